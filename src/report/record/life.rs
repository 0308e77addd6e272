use anstyle::Style;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::machine::Outcome;
use crate::report::paint::{BOLD, WARN};
use crate::report::words::outcome_style;
use crate::store::{Owner, RunRow, RunState};

/// Where a run is in its life, the process that works on it considered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// A process works on it.
    Running,
    /// People are asked, and no process works on it meanwhile.
    Waiting,
    /// It has not ended and no process works on it: it can be resumed.
    #[default]
    Interrupted,
    /// It ended so.
    Ended(Outcome),
}

impl Life {
    /// Judges by what the store knows.
    pub fn of(run: &RunRow, owner: Option<Owner>) -> Self {
        match run.state {
            RunState::Ended(outcome) => Self::Ended(outcome),
            RunState::Running if owner.is_some_and(|owner| owner.alive) => Self::Running,
            RunState::Running if run.asks > 0 => Self::Waiting,
            RunState::Running => Self::Interrupted,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
            Self::Ended(outcome) => outcome.as_str(),
        }
    }

    /// The style of the word.
    pub fn style(self) -> Style {
        match self {
            Self::Running => BOLD,
            Self::Waiting | Self::Interrupted => WARN,
            Self::Ended(outcome) => outcome_style(outcome),
        }
    }
}

/// Writes where a run is in its life into the fields of its row: what the store knows alone is that a
/// run has not ended, and two answers to one question would be none.
pub fn tell_life(run: &mut Value, life: &Value) {
    if let Some(state) = run.get_mut("state") {
        *state = life.clone();
    }
}

/// As [`tell_life`], for the record of a run and of all that are nested in it.
pub(super) fn tell_lives(record: &mut Value) {
    let life = record.get("life").cloned().unwrap_or_default();
    if let Some(run) = record.get_mut("run") {
        tell_life(run, &life);
    }
    let nested = record.get_mut("nested").and_then(Value::as_array_mut);
    for one in nested.into_iter().flatten() {
        one.get_mut("record").map(tell_lives);
    }
}

impl Serialize for Life {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
