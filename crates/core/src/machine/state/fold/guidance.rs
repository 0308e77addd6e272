//! The fold of the help for an agent whose attempts fail: guidance of a planner, and answers of people.

use crate::machine::{
    state::{
        self, MachineState, TaskIx,
        task_phase::{ActivityKind, TaskActivity, TaskPhase},
    },
    words::{
        ApprovalOutcome, ApprovalRequest, EventKind, GuidanceOutcome, GuidanceStart, StepState, StuckAttempt,
    },
};
use wf_base::time::Moment;
use wf_model::Plan;

/// Applies a fact about guidance.
pub(in crate::machine::state) fn apply_guidance(
    state: &mut MachineState,
    plan: &Plan,
    at: Moment,
    kind: &EventKind,
) {
    match kind {
        EventKind::GuidanceRequested(GuidanceStart { attempt, reason }) => {
            let Some(task) = state::find_task_ix(plan, &attempt.task_id) else { return };
            if let Some(record) = state.task_record_mut(task) {
                record.ask_guidance(attempt.attempt, reason.clone());
            }
            let doing = ActivityKind::Consulting;
            let activity = TaskActivity { attempt: attempt.attempt, since: at, doing, room: false };
            state.move_task(task, TaskPhase::Active(activity));
            state.set_step_state(task, StepState::Waiting);
        }
        EventKind::GuidanceEnded(end) => {
            let Some(task) = state::find_task_ix(plan, &end.attempt.task_id) else { return };
            if let (Some(record), GuidanceOutcome::Given { guidance }) =
                (state.task_record_mut(task), &end.outcome)
            {
                record.give_guidance(guidance.clone());
            }
            state.move_task(task, TaskPhase::Undecided);
        }
        _ => {}
    }
}

/// Lets a stuck step wait for people. It takes up no room.
pub(in crate::machine::state) fn ask_about_stuck(
    state: &mut MachineState,
    task: TaskIx,
    stuck: &StuckAttempt,
    since: Moment,
) {
    let (attempt, doing) = (stuck.attempt, ActivityKind::Asking);
    state.move_task(task, TaskPhase::Active(TaskActivity { attempt, since, doing, room: false }));
}

/// Keeps the answer about a stuck step for its next attempts; the same turn decides what follows.
pub(in crate::machine::state) fn apply_stuck_answer(
    state: &mut MachineState,
    at: Moment,
    task: TaskIx,
    request: &ApprovalRequest,
    outcome: &ApprovalOutcome,
) {
    if let Some(record) = state.task_record_mut(task).filter(|_| request.is_granted_by(outcome.decision)) {
        let by: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
        let who = if by.is_empty() { String::new() } else { format!("{}: ", by.join(", ")) };
        record.give_person_guidance(at, format!("{who}{}", outcome.reason));
    }
    state.move_task(task, TaskPhase::Undecided);
}
