//! The effect of a new round on the state: some steps are reopened, and all else stays.

use std::collections::BTreeSet;

use crate::machine::{
    state::{
        MachineState, TaskIx,
        fold::{reused::ReusableResult, task_end},
        machine_state::StepRecord,
    },
    words::{RunPhase, StepState},
};
use wf_base::{name::Name, time::Moment};
use wf_model::{Plan, StepIx};

/// Reopens steps.
pub(in crate::machine::state) fn reopen(state: &mut MachineState, plan: &Plan, names: &[Name], at: Moment) {
    let steps = names.iter().filter_map(|name| Some(plan.find(name.as_str())?.0));
    let again: BTreeSet<u32> = steps.collect();
    for step in &again {
        let needs = &plan.step(StepIx(*step)).depends_on;
        // Items that ended well stay if others of them failed. If all ended well, the step
        // itself or a dependency of it changes.
        let well = state.step_record(*step).state == StepState::Succeeded;
        let same = !well && needs.iter().all(|ix| !again.contains(&ix.0));
        uncount(state, *step);
        keep_items(state, *step, same);
        let waiting = needs.iter().filter(|ix| again.contains(&ix.0)).count();
        // A dependency that failed and is not reopened blocks the step.
        let blocks = |ix: &&StepIx| {
            let record = state.step_record(ix.0);
            let well = record.state == StepState::Succeeded || record.allowed_to_fail;
            !well && !again.contains(&ix.0)
        };
        let blocker = needs.iter().find(blocks).map(|ix| ix.0);
        let record = state.step_record_mut(*step);
        *record = StepRecord {
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
            blocker,
            once: record.once.for_next_round(),
            ..StepRecord::default()
        };
        state.open += 1;
    }
    state.failed = None;
    state.stopping = None;
    state.proof.reopen_plan();
    state.phase = RunPhase::Steps;
    for step in again {
        if state.step_record(step).waiting == 0 {
            task_end::becomes_due(state, step, at);
        }
    }
}

/// Removes the end of a step from the tally.
fn uncount(state: &mut MachineState, step: u32) {
    let record = &state.steps[step as usize];
    let count = state.counts.of_end(record.state, record.standing, record.allowed_to_fail);
    *count = count.saturating_sub(1);
}

/// Keeps the results of items that ended well, if they would come to the same, and the number
/// of attempts of each.
fn keep_items(state: &mut MachineState, step: u32, same: bool) {
    let Some(many) = state.step_record_mut(step).many.take() else {
        return state.proof.drop_evidence(TaskIx { step, item: None });
    };
    for task in state.proof.evidence_of(step) {
        let record = task.item.and_then(|item| many.records.get(item as usize));
        let kept = record.is_some_and(|record| record.ended() == Some(StepState::Succeeded));
        if !(same && kept) {
            state.proof.drop_evidence(task);
        }
    }
    for ((item, record), number) in many.items.into_iter().zip(many.records).zip(0_u32..) {
        let task = TaskIx { step, item: Some(number) };
        // Another list may have another item at this position.
        let next = record.for_next_round();
        state.made.insert(task, if same { next } else { next.without_history() });
        if same && record.ended() == Some(StepState::Succeeded) {
            let outputs = record.result().map(|result| result.outputs.clone()).unwrap_or_default();
            let (standing, from) = (record.standing(), None);
            // The state still knows of its evidence, and the list is the same.
            let offer = ReusableResult { outputs, standing, from, has_evidence: false, item_digest: None };
            state.offers.insert((step, item.key), offer);
        } else {
            state.offers.remove(&(step, item.key));
        }
    }
}
