use anstyle::Style;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::words::outcome_style;
use wf_base::untrusted::{BOLD, WARN};
use wf_core::machine::RunOutcome;
use wf_store::{RunOwner, RunRow, RunState};

/// The state of a run in its life cycle, its process considered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunLifecycle {
    /// A process works on it.
    Running,
    /// A request is open, and nothing is done meanwhile; a process may wait for the answer.
    Waiting,
    /// It has not ended and no process works on it: it can be resumed.
    #[default]
    Interrupted,
    Ended(RunOutcome),
}

impl RunLifecycle {
    /// Derives it from the record in the store.
    pub fn of(run: &RunRow, owner: Option<RunOwner>) -> Self {
        match run.state {
            RunState::Ended(outcome) => Self::Ended(outcome),
            RunState::Running if owner.is_some_and(|owner| owner.alive) && !run.waits_for_people => {
                Self::Running
            }
            RunState::Running if run.pending_approvals > 0 => Self::Waiting,
            RunState::Running => Self::Interrupted,
        }
    }

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Ended(outcome) => outcome.as_str(),
        }
    }

    /// Returns the style of the word.
    pub fn style(self) -> Style {
        match self {
            Self::Running => BOLD,
            Self::Waiting | Self::Interrupted => WARN,
            Self::Ended(outcome) => outcome_style(outcome),
        }
    }
}

/// Writes the state of a run into the fields of its row: the store alone knows only that it has not
/// ended, and the document must not contradict itself.
pub fn write_lifecycle(run: &mut Value, life: &Value) {
    if let Some(state) = run.get_mut("state") {
        *state = life.clone();
    }
}

/// Does the same as [`write_lifecycle`], for the record of a run and of all that are nested in it.
pub(super) fn write_lifecycles(record: &mut Value) {
    let life = record.get("life").cloned().unwrap_or_default();
    if let Some(run) = record.get_mut("run") {
        write_lifecycle(run, &life);
    }
    let nested = record.get_mut("nested").and_then(Value::as_array_mut);
    for document in nested.into_iter().flatten() {
        document.get_mut("record").map(write_lifecycles);
    }
}

impl Serialize for RunLifecycle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
