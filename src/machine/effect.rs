use serde::{Deserialize, Serialize};

use super::{Artifact, Ask, Attempt, Correction, GatePoint, Item, Place, PlanRequest};
use crate::model::{CheckPhase, Object};
use crate::time::Moment;

/// Something the world must do, once the events of the same turn are durable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Execute a step's work. Answered by [`Ended`](super::Ended).
    Start {
        /// Which attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<Item>,
        /// What the work's templates read, by reference as written.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        reads: Object,
        /// What was wrong with the attempt before, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correction: Option<Box<Correction>>,
        /// What gates rewrote of what is to be executed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_args: Option<Box<serde_json::Value>>,
    },
    /// Execute a step's work as soon as another's has ended well, so that no more run at once than
    /// may. Answered by [`Began`](super::Happening::Began) and then by [`Ended`](super::Ended),
    /// or by [`Unstaged`](super::Happening::Unstaged).
    Stage {
        /// Which attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// When it was staged, if that was before the engine died: find out what became of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Moment>,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<Item>,
        /// What the work's templates read, by reference as written.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        reads: Object,
    },
    /// Let an attempt that is staged not begin, if it has not begun.
    Unstage {
        /// Which.
        attempt: Attempt,
    },
    /// Run the checks of a phase: of an attempt whose work succeeded, or the plan's own. Answered by
    /// [`Judged`](super::Happening::Judged).
    Check {
        /// The attempt; `None`: the plan's own criteria.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// Which phase; absent: `verify`.
        #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
        phase: CheckPhase,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<Item>,
        /// What the checks' templates read.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        reads: Object,
    },
    /// Ask the gates at a point. Answered by [`Gated`](super::Happening::Gated).
    Gate {
        /// The place; `None`: the gates of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// Where.
        point: GatePoint,
        /// The number of the attempt: the next one before its work, else the last.
        attempt: u32,
        /// The attempt that is about to begin, where it is not the first of its round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<u32>,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<Item>,
        /// What the templates of the work read.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        reads: Object,
        /// The steps that it depends on, or of the run all, with their outputs.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        steps: Object,
        /// The outputs of the attempt, or of the run.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
    },
    /// Wait for what people decide. Answered by [`Answered`](super::Happening::Answered).
    Ask(Box<Ask>),
    /// Ask the planner for ways to do steps. Answered by
    /// [`Planned`](super::Happening::Planned).
    Plan {
        /// What it is told.
        request: Box<PlanRequest>,
    },
    /// Wait no longer for what people decide.
    Dismiss {
        /// The number of what was asked.
        number: u32,
    },
    /// Go off at an instant. Answered by [`Woke`](super::Happening::Woke).
    Wake {
        /// What for.
        timer: Timer,
        /// When.
        at: Moment,
    },
    /// Hold a named lock for a place, when it is free. Answered by
    /// [`Locked`](super::Happening::Locked).
    Lock {
        /// Who.
        place: Place,
        /// Which.
        lock: String,
    },
    /// Give a named lock back, or stop waiting for it.
    Unlock {
        /// Who.
        place: Place,
        /// Which.
        lock: String,
    },
    /// Look the step's result up in the cache. Answered by
    /// [`Looked`](super::Happening::Looked).
    Lookup {
        /// For whom.
        place: Place,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<Item>,
        /// What the work's templates read.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        reads: Object,
    },
    /// Keep the result of a place for reuse.
    Remember {
        /// Whose.
        place: Place,
        /// Its outputs.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
        /// Its artifacts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
    },
    /// Find out what became of an attempt that was under way when the engine died, and end it
    /// as [`Exit::Interrupted`](super::Exit::Interrupted) if nobody can say. Answered like
    /// [`Effect::Start`].
    Watch {
        /// Which attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// When it began.
        since: Moment,
        /// The item, where the step is repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_value: Option<Item>,
        /// What the work's templates read.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        reads: Object,
        /// What was wrong with the attempt before, where there was one: if nobody began the work,
        /// it is begun now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correction: Option<Box<Correction>>,
        /// What gates rewrote of what is to be executed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_args: Option<Box<serde_json::Value>>,
    },
    /// End an attempt's work or checks, or the plan's own checks, or its planner.
    Kill {
        /// Which; `None`: the plan's own checks, or its planner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// Whether without grace.
        force: bool,
    },
    /// Look whether the files of the last evidence of places are still what they were. Answered
    /// by [`Confirmed`](super::Happening::Confirmed).
    Confirm {
        /// Whose.
        places: Vec<Place>,
    },
    /// The run is over.
    Finish {
        /// The plan's outputs.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
    },
}

impl Effect {
    /// Whether it prepares the next attempt of a place: where the controller lets the place begin
    /// anew, it is not needed any more.
    pub fn prepares(&self) -> bool {
        match self {
            Self::Lock { .. } | Self::Lookup { .. } => true,
            Self::Gate { place, .. } => place.is_some(),
            Self::Wake { timer, .. } => matches!(timer, Timer::Queue(_)),
            _ => false,
        }
    }
}

/// What a timer is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "timer", rename_all = "snake_case")]
pub enum Timer {
    /// The next attempt may begin.
    Retry(Attempt),
    /// The attempt's wait is over.
    Wait(Attempt),
    /// The place has waited too long for its turn.
    Queue(Place),
    /// Nobody has decided in time.
    Ask {
        /// The number of what was asked.
        number: u32,
    },
    /// The run has taken too long.
    Run,
    /// A part of the time that the budget allows is over, or all of it.
    Budget {
        /// How much, in milliseconds from the beginning of the run.
        ms: u64,
    },
}
