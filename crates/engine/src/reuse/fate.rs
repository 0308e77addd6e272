//! The fates of steps in a repetition, and the reasons for which one runs again.

use std::fmt;

use wf_base::name::Name;
use wf_core::machine::StepState;

/// The fate of a step in a repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepFate {
    /// The result is reused.
    Reused,
    /// The step was skipped by its rules, and will be again.
    Settled,
    /// The step is left out by choice.
    Deselected,
    /// The step runs again.
    Rerun(StepRerun),
}

/// The way a step runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRerun {
    pub reason: RerunReason,
    /// True if successful steps in the runs nested in it are reused.
    pub reuses_nested: bool,
    /// The keys of the items with reused results.
    pub reused_items: Vec<String>,
    /// The keys of the only items that run; `None`: all not reused.
    pub except_items: Option<Vec<String>>,
}

/// The reason why a step runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RerunReason {
    /// The step did not succeed, or had not started.
    Ended(Option<StepState>),
    /// The step is new in the plan.
    New,
    /// The meaning of the step changed.
    Changed,
    /// The step reads a changed parameter.
    ParamChanged(Name),
    /// The step may read a changed parameter: the reads of its program are unknown.
    MayReadParam(Name),
    /// The step was chosen.
    Chosen,
    /// Something inside the step runs again.
    NestedRerun,
    /// The step depends on one running again.
    DependencyRerun(Name),
    /// The step asks how all others end.
    OutcomeCondition,
    /// A `finally` step runs again because something before it does.
    Finally,
    /// The result differs, in this way, from what its run left.
    ResultDiffers(String),
    /// An approval is asked anew because this step, which waits for it, runs again.
    ApprovalRenewed(Name),
}

impl RerunReason {
    /// True if the reason lies in the step itself, not in its dependencies.
    pub fn is_own(&self) -> bool {
        !matches!(self, Self::DependencyRerun(_) | Self::Finally)
    }
}

impl fmt::Display for RerunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(Some(StepState::Failed)) => f.write_str("it failed"),
            Self::Ended(Some(StepState::Skipped)) => f.write_str("it was skipped"),
            Self::Ended(Some(StepState::Cancelled)) => f.write_str("it was cancelled"),
            Self::Ended(_) => f.write_str("it had not finished"),
            Self::New => f.write_str("it is new"),
            Self::Changed => f.write_str("it changed since"),
            Self::ParamChanged(name) => write!(f, "parameter `{name}` changed"),
            Self::MayReadParam(name) => {
                write!(f, "parameter `{name}` changed, and its program may read it")
            }
            Self::Chosen => f.write_str("it was selected"),
            Self::NestedRerun => f.write_str("a nested step runs again"),
            Self::DependencyRerun(step) => write!(f, "it depends on `{step}`, which runs again"),
            Self::OutcomeCondition => f.write_str("its `when` tests the status of other steps"),
            Self::Finally => f.write_str("a step before it runs again"),
            Self::ResultDiffers(reason) => f.write_str(reason),
            Self::ApprovalRenewed(step) => {
                write!(f, "it contains an approval, and `{step}`, which depends on it, runs again")
            }
        }
    }
}
