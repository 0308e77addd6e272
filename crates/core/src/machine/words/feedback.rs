//! The feedback to an attempt about the one before it, as data: its failed criteria and the next loop.

use serde::{Deserialize, Serialize};

use crate::machine::words::{CheckVerdict, TaskId};
use wf_base::name::Name;
use wf_model::{CheckPhase, FailureClass};

/// The feedback to an attempt about the failed one before it. It follows from recorded facts alone,
/// so it is the same after a resume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptFeedback {
    /// The task of these attempts.
    #[serde(flatten)]
    pub task_id: TaskId,
    /// The failed attempt; 0: a result from the cache failed verification.
    pub attempt: u32,
    /// The loop of `inspect` or `test` in the next attempt; absent: none.
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<ReworkLoop>,
    /// The failure class; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The problem, in one sentence.
    pub what_was_wrong: String,
    /// The remedy, in one sentence.
    pub what_to_do: String,
    /// Its failed criteria, in their order; empty if it ended before it was judged.
    pub failed: Vec<FailedCheck>,
    /// The number of failed criteria of each attempt so far, oldest first.
    pub gaps: Vec<FailureCount>,
    /// The guidance of a planner for an agent; absent: none was given in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidance: Option<String>,
    /// The guidance of people about the stuck agent; absent: none was given in this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_guidance: Option<String>,
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
    /// The output of the check, at most 1,000 characters.
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

impl FailedCheck {
    pub(in crate::machine) fn mismatch(&self) -> String {
        mismatch(&self.expected, &self.found)
    }

    /// Describes the failure in one line, as a verdict is reported.
    pub(in crate::machine) fn describe(&self) -> String {
        match self.mismatch() {
            found if found.is_empty() => format!("check `{}` failed", self.criterion),
            found => format!("check `{}`: {found}", self.criterion),
        }
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

/// Describes an expected and an actual result; empty if there is neither.
pub(in crate::machine) fn mismatch(expected: &str, found: &str) -> String {
    match expected {
        "" => found.to_owned(),
        expected => format!("expected {expected}, found {found}"),
    }
}

/// A rework attempt, after a check of `inspect` or `test` failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReworkLoop {
    /// The failed phase.
    pub phase: CheckPhase,
    /// The number of this loop of the phase, from 1.
    pub number: u32,
    /// The number of loops of the phase.
    pub limit: u32,
}

impl std::fmt::Display for ReworkLoop {
    /// Formats it as `inspect 2/3`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.phase.as_str(), self.number, self.limit)
    }
}
