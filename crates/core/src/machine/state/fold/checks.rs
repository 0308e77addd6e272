//! The fold of the facts about checks and evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{self, MachineState, TaskIx},
    words::{Attempt, FailedCheck, ReworkLoop, StaleFile, Standing, StepState, serde_pairs},
};
use wf_model::{CheckPhase, Plan};

/// The part of the state that checks of the plan, and evidence, are about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct ProofState {
    /// The result of the plan's own criteria; `None`: they were not judged.
    pub(in crate::machine) judged: Option<bool>,
    /// The last phase of the plan's own checks that is over, unless it was the final one.
    pub(in crate::machine) passed: Option<CheckPhase>,
    /// The criteria of the plan that failed in this round.
    pub(in crate::machine) refuted: Vec<FailedCheck>,
    /// True if such a check passed although the steps may change everything that it reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::machine) is_unbounded: bool,
    /// Tasks whose last result was checked against files whose digests are recorded.
    pub(in crate::machine) evidence: BTreeSet<TaskIx>,
    /// Tasks whose evidence is stale, each with a file that changed.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) stale: BTreeMap<TaskIx, String>,
}

/// Notes that a phase of checks is over, for an attempt or for the plan's own.
pub(in crate::machine) fn record_phase_passed(
    state: &mut MachineState,
    plan: &Plan,
    attempt: Option<&Attempt>,
    phase: CheckPhase,
) {
    let Some(attempt) = attempt else {
        state.proof.passed = Some(phase);
        // The next phase is judged by itself.
        state.proof.judged = None;
        return;
    };
    if let Some(record) = state.named_record_mut(plan, &attempt.task_id) {
        record.passed = Some(phase);
    }
}

/// Notes the phase that sent the work back, if one did.
pub(in crate::machine) fn record_loop(state: &mut MachineState, task: TaskIx, looped: Option<ReworkLoop>) {
    let Some(record) = state.task_record_mut(task) else {
        return;
    };
    if let Some(tries) = &mut record.tries {
        tries.looped = looped;
    }
    match looped.map(|looped| looped.phase) {
        Some(CheckPhase::Inspect) => record.inspector_loops += 1,
        Some(CheckPhase::Test) => record.tester_loops += 1,
        Some(CheckPhase::Verify) | None => {}
    }
}

/// Downgrades a task, and the repeated step that it is an item of, to unverified success.
pub(in crate::machine) fn mark_stale(state: &mut MachineState, plan: &Plan, stale: &StaleFile) {
    let Some(task) = state::find_task_ix(plan, &stale.task_id) else {
        return;
    };
    if !state.is_verified(task) {
        return;
    }
    state.proof.stale.insert(task, stale.path.clone());
    if task.item.is_some()
        && let Some(record) = state.task_record_mut(task)
    {
        record.standing = Standing::Reported;
    }
    let record = state.step_record_mut(task.step);
    if record.state == StepState::Succeeded && record.standing.is_checked() {
        let before = std::mem::replace(&mut record.standing, Standing::Reported);
        let count = state.counts.of_end(StepState::Succeeded, before, false);
        *count = count.saturating_sub(1);
        state.counts.reported += 1;
    }
}
