//! The names of the kinds of effects, timers, ends of work and inputs.

use wf_core::machine::{Effect, InputKind, TimerKind, WorkExit};

/// The name of an effect's kind.
pub fn effect(effect: &Effect) -> &'static str {
    match effect {
        Effect::Start { .. } => "start",
        Effect::Check { .. } => "check",
        Effect::Wake { .. } => "wake",
        Effect::Lock { .. } => "lock",
        Effect::Unlock { .. } => "unlock",
        Effect::Lookup { .. } => "lookup",
        Effect::Remember { .. } => "remember",
        Effect::Watch { .. } => "watch",
        Effect::Kill { .. } => "kill",
        Effect::Finish { .. } => "finish",
        Effect::Confirm { .. } => "confirm",
        Effect::Gate(_) => "gate",
        Effect::Plan { .. } => "plan",
        Effect::Guide { .. } => "guide",
        Effect::Compact { .. } => "compact",
        Effect::Ask(_) => "ask",
        Effect::Dismiss { .. } => "dismiss",
        Effect::CallModel(_) => "call_model",
        Effect::CallTool(_) => "call_tool",
        Effect::StartChild { .. } => "start_child",
        Effect::EndAgent(_) => "end_agent",
        Effect::PrepareMerge { .. } => "prepare_merge",
        Effect::Merge(_) => "merge",
        Effect::ServeClient(_) => "serve_client",
    }
}

/// The name of a timer's kind.
pub fn timer(timer: &TimerKind) -> &'static str {
    match timer {
        TimerKind::Retry(_) => "retry",
        TimerKind::Wait(_) => "wait",
        TimerKind::Agent(_) => "agent",
        TimerKind::Queue(_) => "queue",
        TimerKind::Ask { .. } => "ask",
        TimerKind::Run => "run",
        TimerKind::Budget { .. } => "budget",
    }
}

/// The name of the way in which work ended.
pub(super) fn exit(exit: &WorkExit) -> &'static str {
    match exit {
        WorkExit::Code { .. } => "code",
        WorkExit::Signal { .. } => "signal",
        WorkExit::Completed => "done",
        WorkExit::TimedOut => "timed_out",
        WorkExit::Cancelled => "cancelled",
        WorkExit::Error { .. } => "unable",
        WorkExit::Denied { .. } => "denied",
        WorkExit::Interrupted => "interrupted",
    }
}

/// The name of an input's kind.
pub fn input(what: &InputKind) -> &'static str {
    match what {
        InputKind::Begin { .. } => "begin",
        InputKind::Generated(_) => "generated",
        InputKind::Briefed { .. } => "briefed",
        InputKind::Replied { .. } => "replied",
        InputKind::ToolEnded(_) => "tool_ended",
        InputKind::ChildEnded(_) => "child_ended",
        InputKind::ClientCalled { .. } => "client_called",
        InputKind::ClientEnded { .. } => "client_ended",
        InputKind::MergePrepared { .. } => "merge_prepared",
        InputKind::Merged(_) => "merged",
        InputKind::Ended(_) => "ended",
        InputKind::Judged { .. } => "judged",
        InputKind::Woke { .. } => "woke",
        InputKind::Locked { .. } => "locked",
        InputKind::LockHeld { .. } => "lock_held",
        InputKind::LockRefused { .. } => "lock_refused",
        InputKind::Looked { .. } => "looked",
        InputKind::Cancel { .. } => "cancel",
        InputKind::Stale(_) => "stale",
        InputKind::Confirmed { .. } => "confirmed",
        InputKind::Gated { .. } => "gated",
        InputKind::Answered { .. } => "answered",
        InputKind::Planned(_) => "planned",
        InputKind::Guided(_) => "guided",
        InputKind::Compacted(_) => "compacted",
    }
}
