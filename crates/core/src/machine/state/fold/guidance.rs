//! The fold of the help for an agent whose attempts fail: guidance of a planner, and answers of people.

use serde::{Deserialize, Serialize};

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

/// The guidance for a task in this round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct TaskGuidance {
    /// The attempt that failed before the planner was asked.
    pub(in crate::machine) after: u32,
    /// The reason for that failure.
    pub(in crate::machine) reason: String,
    /// The text; `None`: there is none yet, or the planner gave none.
    pub(in crate::machine) text: Option<String>,
}

/// Applies a fact about guidance.
pub(in crate::machine) fn apply_guidance(
    state: &mut MachineState,
    plan: &Plan,
    at: Moment,
    kind: &EventKind,
) {
    match kind {
        EventKind::GuidanceRequested(GuidanceStart { attempt, reason }) => {
            let Some(task) = state::find_task_ix(plan, &attempt.task_id) else { return };
            if let Some(record) = state.task_record_mut(task) {
                let (after, reason) = (attempt.attempt, reason.clone());
                record.guidance = Some(Box::new(TaskGuidance { after, reason, text: None }));
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
                && let Some(known) = &mut record.guidance
            {
                known.text = Some(guidance.clone());
            }
            state.move_task(task, TaskPhase::Undecided);
        }
        _ => {}
    }
}

/// Lets a stuck step wait for people. It takes up no room.
pub(in crate::machine) fn ask_about_stuck(
    state: &mut MachineState,
    task: TaskIx,
    stuck: &StuckAttempt,
    since: Moment,
) {
    let (attempt, doing) = (stuck.attempt, ActivityKind::Asking);
    state.move_task(task, TaskPhase::Active(TaskActivity { attempt, since, doing, room: false }));
}

/// Keeps the answer about a stuck step for its next attempts; the same turn decides what follows.
pub(in crate::machine) fn apply_stuck_answer(
    state: &mut MachineState,
    at: Moment,
    task: TaskIx,
    request: &ApprovalRequest,
    outcome: &ApprovalOutcome,
) {
    if let Some(record) = state.task_record_mut(task).filter(|_| request.is_granted_by(outcome.decision)) {
        record.let_in = Some(at);
        let by: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
        let who = if by.is_empty() { String::new() } else { format!("{}: ", by.join(", ")) };
        record.person_guidance = Some(format!("{who}{}", outcome.reason));
    }
    state.move_task(task, TaskPhase::Undecided);
}
