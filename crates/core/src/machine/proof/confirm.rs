//! Evidence that is checked again: before a run ends, and whenever a file is reported as changed.

use crate::machine::{
    state::{self, Run, follow_up::FollowUp},
    words::{Effect, EventKind, RunPhase, StaleFile, TaskId},
};

/// Ends the run, after asking whether the evidence of verified tasks is still fresh.
pub(in crate::machine) fn conclude(run: &mut Run) {
    if run.state().is_force_cancelled() || run.state().tasks_with_fresh_evidence().next().is_none() {
        return run.then(FollowUp::EndRun);
    }
    run.enter_phase(RunPhase::Confirm);
    ask_confirmation(run);
}

/// Asks again after a resume; all of the evidence may have gone stale in the meantime.
pub(in crate::machine) fn resume_confirmation(run: &mut Run) {
    if run.state().tasks_with_fresh_evidence().next().is_none() {
        run.then(FollowUp::EndRun);
    } else {
        ask_confirmation(run);
    }
}

/// Asks whether evidence is still fresh.
fn ask_confirmation(run: &mut Run) {
    let tasks = run.state().tasks_with_fresh_evidence();
    let places: Vec<TaskId> = tasks.map(|task| state::task_id(run.plan(), task)).collect();
    run.push_effect(Effect::Confirm { places });
}

/// Applies the answer and ends the run.
pub(in crate::machine) fn on_confirmation(run: &mut Run, stale: Vec<StaleFile>) {
    if run.state().phase() == RunPhase::Confirm {
        for stale in stale {
            on_stale_evidence(run, stale);
        }
        run.then(FollowUp::EndRun);
    }
}

/// Applies a change to a file of a task's evidence. It changes nothing if the task is not
/// verified or not known, or if the change is reported twice.
pub(in crate::machine) fn on_stale_evidence(run: &mut Run, stale: StaleFile) {
    let task = run.task_ix(&stale.task_id);
    if task.is_some_and(|task| run.state().is_verified(task)) {
        run.emit(EventKind::EvidenceStale(stale));
    }
}
