//! The results of a task's attempts, until it has ended: a correction is made of them.

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::MachineState,
    words::{
        Attempt, CheckVerdict, FailedCheck, FailureCount, FailureTally, NestedFindings, ReworkLoop, WorkExit,
    },
};
use wf_model::{FailureClass, Plan};

/// The results of a task's attempts so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct AttemptHistory {
    /// The last attempt that ended.
    pub(in crate::machine) attempt: u32,
    pub(in crate::machine) failure_class: Option<FailureClass>,
    /// The exit of its work, if it was not successful.
    pub(in crate::machine) exit: Option<String>,
    /// The failures inside of the nested run that its work was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) inside: Option<FailureTally>,
    /// The criteria that it failed.
    pub(in crate::machine) failed: Vec<FailedCheck>,
    /// The objection of a gate and its instruction, if one wants another attempt.
    pub(in crate::machine) gate: Option<(String, String)>,
    /// The loop that the next or current attempt is.
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
}

/// Notes the end of an attempt's work.
pub(in crate::machine) fn record_attempt(
    state: &mut MachineState,
    plan: &Plan,
    attempt: &Attempt,
    exit: &WorkExit,
    failure_class: Option<FailureClass>,
    tally: Option<FailureTally>,
) {
    let Some(record) = state.named_record_mut(plan, &attempt.task_id) else { return };
    // Work that succeeded at once needs no correction.
    if exit.is_success() && record.tries.is_none() {
        return;
    }
    let tries = record.tries.get_or_insert_default();
    let gaps = std::mem::take(&mut tries.gaps);
    let exit = (!exit.is_success()).then(|| exit.to_string());
    **tries = AttemptHistory {
        attempt: attempt.attempt,
        failure_class,
        exit,
        inside: tally,
        gaps,
        ..AttemptHistory::default()
    };
}

/// Notes calls that an attempt made.
pub(in crate::machine) fn record_calls(
    state: &mut MachineState,
    plan: &Plan,
    attempt: &Attempt,
    calls: &[String],
) {
    if let Some(record) = state.named_record_mut(plan, &attempt.task_id) {
        record.calls.extend(calls.iter().cloned());
    }
}

/// Notes the findings of the nested run that an attempt was; whatever criterion failed before is over.
pub(in crate::machine) fn record_findings(
    state: &mut MachineState,
    plan: &Plan,
    attempt: &Attempt,
    findings: &NestedFindings,
) {
    record_calls(state, plan, attempt, &findings.calls);
    if let Some(record) = state.named_record_mut(plan, &attempt.task_id) {
        record.failed_check.clone_from(&findings.failed_check);
    }
}

/// Notes the ruling of a check on an attempt.
pub(in crate::machine) fn record_verdict(
    state: &mut MachineState,
    plan: &Plan,
    attempt: &Attempt,
    verdict: &CheckVerdict,
) {
    let Some(record) = state.named_record_mut(plan, &attempt.task_id) else { return };
    record.is_unbounded |= verdict.is_unbounded;
    if !verdict.passed() && record.failed_check.is_none() {
        record.failed_check = Some(verdict.name.to_string());
    }
    record.tries.get_or_insert_default().add_verdict(attempt.attempt, verdict);
}

impl AttemptHistory {
    fn add_verdict(&mut self, attempt: u32, verdict: &CheckVerdict) {
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
