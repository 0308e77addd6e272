use serde::{Deserialize, Serialize};

use super::advice;
use super::state::TaskIx;
use super::{CheckVerdict, Machine, ReworkLoop, TaskId};
use wf_base::name::Name;
use wf_model::{CheckPhase, FailureClass};

/// The feedback to an attempt about the failed one before it. It follows from recorded facts alone,
/// so it is the same after a resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptFeedback {
    /// The task of these attempts.
    #[serde(flatten)]
    pub place: TaskId,
    /// The attempt that failed; 0: a result from the cache that failed verification.
    pub attempt: u32,
    /// The loop of `inspect` or `test` that the next attempt is; absent: none.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<ReworkLoop>,
    /// The failure class; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The problem, in one sentence.
    pub what_was_wrong: String,
    /// The remedy, in one sentence.
    pub what_to_do: String,
    /// The criteria that it failed, in their order; empty if it ended before it was judged.
    pub failed: Vec<FailedCheck>,
    /// The number of criteria that each attempt so far failed, oldest first.
    pub gaps: Vec<FailureCount>,
}

/// A failed criterion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailedCheck {
    /// Its name.
    pub criterion: Name,
    /// The phase of the criterion; absent: `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// The failure class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The expected result, in a few words.
    pub expected: String,
    /// The actual result, in a few words.
    pub found: String,
    /// The output of the check, at most [`REASON_LIMIT`](super::REASON_LIMIT) characters.
    pub evidence: String,
}

/// The distance of a judged attempt from success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailureCount {
    /// The attempt; 0: a result from the cache.
    pub attempt: u32,
    /// The number of its failed criteria.
    pub failed: u32,
    /// The number of criteria checked: those of a later phase only if all before it passed.
    pub of: u32,
}

impl FailureCount {
    /// Counts one more criterion of an attempt in a trajectory.
    pub fn count(gaps: &mut Vec<Self>, attempt: u32, passed: bool) {
        if gaps.last().is_none_or(|gap| gap.attempt != attempt) {
            let (failed, of) = (0, 0);
            gaps.push(Self { attempt, failed, of });
        }
        if let Some(gap) = gaps.last_mut() {
            gap.of += 1;
            gap.failed += u32::from(!passed);
        }
    }
}

impl Machine {
    /// Returns the feedback to the next or current attempt of a task; `None` if it is the first.
    pub(super) fn correction(&self, spot: TaskIx) -> Option<Box<AttemptFeedback>> {
        let tries = self.state.task_record(spot)?.tries.as_deref()?;
        Some(Box::new(AttemptFeedback {
            place: super::state::task_id(&self.plan, spot),
            attempt: tries.attempt,
            looped: tries.looped,
            failure_class: tries.failure_class,
            what_was_wrong: advice::what_was_wrong(tries),
            what_to_do: advice::what_to_do(tries),
            failed: tries.failed.clone(),
            gaps: tries.gaps.clone(),
        }))
    }
}

impl From<&CheckVerdict> for FailedCheck {
    fn from(verdict: &CheckVerdict) -> Self {
        Self {
            criterion: verdict.name.clone(),
            phase: verdict.phase,
            failure_class: verdict.failure_class,
            expected: verdict.expected.clone(),
            found: verdict.found.clone(),
            evidence: verdict.evidence.clone(),
        }
    }
}

impl std::fmt::Display for FailureCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.failed, self.of)
    }
}
