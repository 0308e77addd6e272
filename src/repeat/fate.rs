use std::fmt;

use crate::machine::StepState;
use crate::name::Name;

/// What a repetition does with a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its result is taken over.
    Kept,
    /// It was skipped by its rules, and will be again.
    Settled,
    /// It is left out by choice.
    Left,
    /// It runs again.
    Again(Again),
}

/// How a step runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Again {
    /// Why.
    pub why: Reason,
    /// Whether what succeeded in the runs nested in it is kept.
    pub inside: bool,
    /// The keys of the items whose results are kept.
    pub kept: Vec<String>,
    /// The keys of the only items that run; `None`: all that are not kept.
    pub but: Option<Vec<String>>,
}

/// Why a step runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It ended otherwise, or had not even begun.
    Ended(Option<StepState>),
    /// There was no such step.
    New,
    /// It does not mean what it meant.
    Changed,
    /// It reads a parameter that has another value now.
    Param(Name),
    /// It may read such a parameter: nobody can see what its program reads.
    MayRead(Name),
    /// It was chosen.
    Chosen,
    /// Something inside of it runs again.
    Inside,
    /// It depends on a step that runs again.
    After(Name),
    /// It asks how all others end.
    Asks,
    /// It is a `finally` step, and something before it runs again.
    Finally,
    /// Its result is not what its run left, in this way.
    Differs(String),
    /// People decide in it, and this step, which waits for that, runs again.
    Decides(Name),
}

impl Reason {
    /// Whether it lies in the step itself, not in what it comes after.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::After(_) | Self::Finally)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(Some(StepState::Failed)) => f.write_str("it failed"),
            Self::Ended(Some(StepState::Skipped)) => f.write_str("it was skipped"),
            Self::Ended(Some(StepState::Cancelled)) => f.write_str("it was cancelled"),
            Self::Ended(_) => f.write_str("it had not ended"),
            Self::New => f.write_str("it is new"),
            Self::Changed => f.write_str("it was changed since"),
            Self::Param(name) => write!(f, "parameter `{name}` changed"),
            Self::MayRead(name) => {
                write!(f, "parameter `{name}` changed, and its program may read it")
            }
            Self::Chosen => f.write_str("it was chosen"),
            Self::Inside => f.write_str("something inside of it runs again"),
            Self::After(step) => write!(f, "it depends on `{step}`, which runs again"),
            Self::Asks => f.write_str("it asks how the others end"),
            Self::Finally => f.write_str("something before it runs again"),
            Self::Differs(why) => f.write_str(why),
            Self::Decides(step) => {
                write!(
                    f,
                    "people decide in it, and `{step}`, which waits for that, runs again"
                )
            }
        }
    }
}
