//! What a simulation came to, so that it cannot stop testing something unnoticed.

use std::collections::BTreeMap;
use std::fmt;

use wf::machine::{Effect, Exit, Fact, Happening, Timer};

use super::faults::Fault;

/// Counts, by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<(&'static str, &'static str), u64>);

/// Every kind of event.
const FACTS: [&str; 35] = [
    "run_started",
    "step_kept",
    "item_kept",
    "step_left",
    "step_expanded",
    "lock_awaited",
    "cache_hit",
    "attempt_staged",
    "attempt_unstaged",
    "attempt_started",
    "attempt_ended",
    "criterion_judged",
    "checks_passed",
    "retry_scheduled",
    "step_ended",
    "run_stopping",
    "cancel_requested",
    "run_timed_out",
    "budget_set",
    "budget_noticed",
    "budget_extended",
    "budget_spent",
    "phase_entered",
    "run_ended",
    "baseline_taken",
    "evidence_taken",
    "evidence_stale",
    "gate_judged",
    "gates_passed",
    "escalated",
    "approval_asked",
    "approval_answered",
    "run_blocked",
    "round_closed",
    "memory_advised",
];

/// Every kind of effect.
const EFFECTS: [&str; 16] = [
    "start", "stage", "unstage", "check", "wake", "lock", "unlock", "lookup", "remember", "watch",
    "kill", "finish", "confirm", "gate", "ask", "dismiss",
];

/// Every kind of timer.
const TIMERS: [&str; 6] = ["retry", "wait", "queue", "ask", "run", "budget"];

/// Every way in which work ends.
const EXITS: [&str; 7] = [
    "code",
    "signal",
    "done",
    "timed_out",
    "cancelled",
    "unable",
    "interrupted",
];

/// Every kind of input.
const INPUTS: [&str; 13] = [
    "begin",
    "began",
    "unstaged",
    "ended",
    "judged",
    "woke",
    "locked",
    "looked",
    "cancel",
    "stale",
    "confirmed",
    "gated",
    "answered",
];

/// What is asked of whole worlds.
const WORLDS: [&str; 3] = [
    "compared with calm",
    "compared in other rooms",
    "rounds in other rooms",
];

impl Coverage {
    pub fn count(&mut self, kind: &'static str, name: &'static str) {
        *self.0.entry((kind, name)).or_default() += 1;
    }

    pub fn event(&mut self, told: &Fact) {
        self.count("event", fact(told));
        if let Fact::AttemptEnded { how, .. } = told {
            self.count("exit", exit(how));
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.0 {
            *self.0.entry(*key).or_default() += count;
        }
    }

    /// What should have occurred and never did: every kind of event, effect, input, timer, end of
    /// work and trouble is to be seen.
    pub fn gaps(&self) -> Vec<String> {
        let faults = Fault::ALL.map(Fault::name);
        let faults = faults
            .iter()
            .copied()
            .filter(|name| !["delay", "race"].contains(name));
        let faults: Vec<&str> = faults.collect();
        let kinds: [(&str, &[&str]); 7] = [
            ("world", &WORLDS),
            ("event", &FACTS),
            ("effect", &EFFECTS),
            ("input", &INPUTS),
            ("timer", &TIMERS),
            ("exit", &EXITS),
            ("fault", &faults),
        ];
        let unseen = |(kind, names): (&'static str, &[&'static str])| {
            let unseen = |name: &&&'static str| !self.0.contains_key(&(kind, **name));
            let unseen: Vec<_> = names
                .iter()
                .filter(unseen)
                .map(|name| format!("{kind} {name}"))
                .collect();
            unseen
        };
        kinds.into_iter().flat_map(unseen).collect()
    }
}

/// A table: a line for each kind.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for ((kind, name), count) in &self.0 {
            if *kind != before {
                writeln!(f, "{}{kind}:", if before.is_empty() { "" } else { "\n" })?;
                before = kind;
            }
            writeln!(f, "  {name:<34} {count:>12}")?;
        }
        Ok(())
    }
}

/// The name of an event's kind.
fn fact(fact: &Fact) -> &'static str {
    match fact {
        Fact::RunStarted { .. } => "run_started",
        Fact::StepKept { .. } => "step_kept",
        Fact::ItemKept { .. } => "item_kept",
        Fact::StepLeft { .. } => "step_left",
        Fact::ResultDropped { .. } => "result_dropped",
        Fact::StepExpanded { .. } => "step_expanded",
        Fact::LockAwaited { .. } => "lock_awaited",
        Fact::CacheHit { .. } => "cache_hit",
        Fact::AttemptStaged(_) => "attempt_staged",
        Fact::AttemptUnstaged(_) => "attempt_unstaged",
        Fact::AttemptStarted(_) => "attempt_started",
        Fact::AttemptEnded { .. } => "attempt_ended",
        Fact::CriterionJudged { .. } => "criterion_judged",
        Fact::ChecksPassed { .. } => "checks_passed",
        Fact::RetryScheduled { .. } => "retry_scheduled",
        Fact::StepEnded { .. } => "step_ended",
        Fact::RunStopping { .. } => "run_stopping",
        Fact::CancelRequested { .. } => "cancel_requested",
        Fact::RunTimedOut => "run_timed_out",
        Fact::BudgetSet(_) => "budget_set",
        Fact::BudgetNoticed { .. } => "budget_noticed",
        Fact::BudgetExtended { .. } => "budget_extended",
        Fact::BudgetSpent { .. } => "budget_spent",
        Fact::PhaseEntered { .. } => "phase_entered",
        Fact::RunEnded { .. } => "run_ended",
        Fact::BaselineTaken(_) => "baseline_taken",
        Fact::EvidenceTaken { .. } => "evidence_taken",
        Fact::EvidenceStale(_) => "evidence_stale",
        Fact::RunApproved(_) => "run_approved",
        Fact::GateJudged { .. } => "gate_judged",
        Fact::GatesPassed { .. } => "gates_passed",
        Fact::Escalated { .. } => "escalated",
        Fact::ApprovalAsked(_) => "approval_asked",
        Fact::ApprovalAnswered { .. } => "approval_answered",
        Fact::RunBlocked { .. } => "run_blocked",
        Fact::RoundClosed(_) => "round_closed",
        Fact::PlannerAsked { .. } => "planner_asked",
        Fact::PlannerAnswered { .. } => "planner_answered",
        Fact::PlannerRefused { .. } => "planner_refused",
        Fact::MemoryAdvised { .. } => "memory_advised",
    }
}

/// The name of an effect's kind.
pub fn effect(effect: &Effect) -> &'static str {
    match effect {
        Effect::Start { .. } => "start",
        Effect::Stage { .. } => "stage",
        Effect::Unstage { .. } => "unstage",
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
        Effect::Gate { .. } => "gate",
        Effect::Plan { .. } => "plan",
        Effect::Ask(_) => "ask",
        Effect::Dismiss { .. } => "dismiss",
    }
}

/// The name of a timer's kind.
pub fn timer(timer: &Timer) -> &'static str {
    match timer {
        Timer::Retry(_) => "retry",
        Timer::Wait(_) => "wait",
        Timer::Queue(_) => "queue",
        Timer::Ask { .. } => "ask",
        Timer::Run => "run",
        Timer::Budget { .. } => "budget",
    }
}

/// The name of the way in which work ended.
fn exit(exit: &Exit) -> &'static str {
    match exit {
        Exit::Code { .. } => "code",
        Exit::Signal { .. } => "signal",
        Exit::Done => "done",
        Exit::TimedOut => "timed_out",
        Exit::Cancelled => "cancelled",
        Exit::Unable { .. } => "unable",
        Exit::Interrupted => "interrupted",
    }
}

/// The name of an input's kind.
pub fn input(what: &Happening) -> &'static str {
    match what {
        Happening::Begin { .. } => "begin",
        Happening::Began { .. } => "began",
        Happening::Unstaged { .. } => "unstaged",
        Happening::Ended(_) => "ended",
        Happening::Judged { .. } => "judged",
        Happening::Woke { .. } => "woke",
        Happening::Locked { .. } => "locked",
        Happening::Looked { .. } => "looked",
        Happening::Cancel { .. } => "cancel",
        Happening::Stale(_) => "stale",
        Happening::Confirmed { .. } => "confirmed",
        Happening::Gated { .. } => "gated",
        Happening::Answered { .. } => "answered",
        Happening::Planned { .. } => "planned",
    }
}
