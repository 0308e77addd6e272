//! Work that was ordered, until it is reported.

use wf_core::machine::{Attempt, AttemptEnd, Effect, EventKind, InputKind, Machine, WorkExit};
use wf_model::FailureClass;

use crate::order::{Job, WorkWish};
use crate::tree::TreeConflict;

/// Work that has not been reported.
#[derive(Clone, Debug)]
pub(crate) struct OpenWork {
    /// The attempt that it is for.
    pub(crate) attempt: Option<Attempt>,
    /// True if it is the work of the attempt itself, which has to end with it.
    pub(crate) is_attempt: bool,
    /// The number of rounds ordered before it.
    pub(crate) round: u32,
    /// True if it is for the next attempt of a task.
    pub(crate) prepares: bool,
    /// The wish about it.
    pub(crate) wish: WorkWish,
}

impl OpenWork {
    pub(crate) fn for_run(machine: &Machine) -> Self {
        Self {
            attempt: None,
            is_attempt: false,
            round: machine.replans(),
            prepares: false,
            wish: WorkWish::GoOn,
        }
    }

    pub(crate) fn of(effect: &Effect, machine: &Machine) -> Self {
        let is_attempt = matches!(effect, Effect::Start { .. } | Effect::Watch { .. });
        Self { attempt: effect.attempt(), is_attempt, prepares: effect.prepares(), ..Self::for_run(machine) }
    }
}

/// True if work that begins later is done otherwise: by another way of its step, with what was verified or learned.
pub(crate) fn changes_work(fact: &EventKind) -> bool {
    matches!(
        fact,
        EventKind::RoundCompleted(_)
            | EventKind::MemoryApplied { .. }
            | EventKind::EvidenceTaken { .. }
            | EventKind::GatesPassed { .. }
    )
}

/// True if a worker needs more of the run than the work itself says: what was checked, what was decided.
pub(crate) fn relies_on_log(job: &Job) -> bool {
    match job {
        Job::Begin => false,
        Job::Effect(effect) => !matches!(**effect, Effect::Start { .. }),
        Job::Decide { .. } => true,
    }
}

/// True if an agent would begin a call with it, which the next workflow can ask for as well.
pub(crate) fn begins_call(effect: &Effect) -> bool {
    matches!(effect, Effect::CallModel { .. } | Effect::ServeClient { .. } | Effect::Compact { .. })
}

/// Returns the effect that begins work which nothing has begun.
pub(crate) fn started(effect: Effect) -> Effect {
    match effect {
        Effect::Watch { attempt, item_value, reads, correction, tool_args, .. } => {
            Effect::Start { attempt, item_value, reads, correction, tool_args }
        }
        other => other,
    }
}

/// Returns a name for work, for people who look at the history.
pub(crate) fn name_of(effect: &Effect) -> String {
    let kind = match effect {
        Effect::Start { .. } => "start",
        Effect::Watch { .. } => "watch",
        Effect::Check { .. } => "check",
        Effect::Gate(_) => "gates",
        Effect::CallModel { .. } => "model",
        Effect::CallTool { .. } => "tool",
        Effect::Confirm { .. } => "confirm",
        _ => "work",
    };
    effect.attempt().map_or_else(|| kind.to_owned(), |attempt| format!("{kind} {attempt}"))
}

/// Fails an attempt whose files another step changed at the same time.
pub(crate) fn without_conflict(input: InputKind, conflict: &TreeConflict) -> InputKind {
    match input {
        InputKind::Ended(end) => {
            let reason = format!(
                "another step changed `{}` at the same time; let one of them depend on the other, or write to \
                 different files",
                conflict.path
            );
            let exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            InputKind::Ended(AttemptEnd { exit, outputs: wf_model::JsonObject::new(), ..end })
        }
        other => other,
    }
}
