use anstyle::Style;
use serde::{Serialize, Serializer};

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

impl Serialize for Life {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
