//! The results of a task's attempts, until it has ended: a correction is made of them.

use serde::{Deserialize, Serialize};

use crate::machine::words::{CheckVerdict, FailedCheck, FailureCount, FailureTally, ReworkLoop};
use wf_model::FailureClass;

/// The results of a task's attempts so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct AttemptHistory {
    /// The last attempt that ended.
    pub(in crate::machine) attempt: u32,
    pub(in crate::machine) failure_class: Option<FailureClass>,
    /// The exit of its work, if it was not successful.
    pub(in crate::machine) exit: Option<String>,
    /// The failures inside of the nested run in its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) inside: Option<FailureTally>,
    /// Its failed criteria.
    pub(in crate::machine) failed: Vec<FailedCheck>,
    /// The objection of a gate and its instruction, if one wants another attempt.
    pub(in crate::machine) gate: Option<(String, String)>,
    /// The loop of the next or current attempt.
    pub(in crate::machine) looped: Option<ReworkLoop>,
    /// The gaps of all judged attempts.
    pub(in crate::machine) gaps: Vec<FailureCount>,
}

impl AttemptHistory {
    /// Returns its failures, by class: those inside of a nested run, else the criteria that it failed; none if neither
    /// is known.
    pub(in crate::machine) fn failures(&self) -> FailureTally {
        let mut failures = self.inside.unwrap_or_default();
        self.failed.iter().for_each(|one| failures.add(one.failure_class));
        failures
    }

    /// Notes the ruling of a check.
    pub(in crate::machine::state) fn add_verdict(&mut self, attempt: u32, verdict: &CheckVerdict) {
        self.attempt = attempt;
        FailureCount::count(&mut self.gaps, attempt, verdict.passed());
        if !verdict.passed() {
            if self.failed.is_empty() {
                self.failure_class = verdict.failure_class;
            }
            self.failed.push(verdict.into());
        }
    }
}
