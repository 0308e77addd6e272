//! The request to people about an agent that is stuck (`on_stuck: escalate`; Silas 5.2.1, 19.5.3): its attempts, the
//! guidance of a planner and re-planning are used up, and a person guides the next attempt, or lets the step fail.
//!
//! It is a question, answered as those of agents are, and the step waits for it without an engine. Each answer grants one
//! attempt. **Invariant:** an answer lets a step reach no more, and proves nothing: it is text for the next attempt.
//!
//! Where re-planning may still change the step, it fails, and its round decides. If the controller then has nothing left
//! to try, the round names the step in `escalated`: it is reopened, and people are asked before its next attempt.

use serde_json::Value;

use crate::machine::{
    state::{
        Run, TaskIx, fold::task_end::TaskCompletion, follow_up::FollowUp, parts::task_record::TaskRecord,
        requests,
    },
    words::{ApprovalRequest, FailedCheck, Standing, StuckAttempt, reason::truncate_reason},
};
use wf_model::{ApprovalRequirement, JsonObject};

impl StuckAttempt {
    /// Returns the end of its task if no person guides it.
    fn failure(&self, because: &str) -> TaskCompletion {
        let standing = if self.is_refuted { Standing::Refuted } else { Standing::Unchecked };
        TaskCompletion::failure(standing, self.failure_class, format!("{} ({because})", self.reason))
    }
}

/// Asks people about a task that is stuck after an attempt.
pub(in crate::machine) fn ask_people_about(
    run: &mut Run,
    task: TaskIx,
    made: u32,
    completion: TaskCompletion,
) {
    let record = run.state().task_record(task);
    let failed = record.and_then(TaskRecord::history).map_or(&[][..], |tries| &tries.failed);
    let line = |unmet: &FailedCheck| (unmet.criterion.to_string(), Value::from(unmet.describe()));
    let show: JsonObject = failed.iter().map(line).collect();
    let reason = truncate_reason(completion.reason);
    let message =
        format!("attempt {made} failed, and no other is granted: {reason}. How should the next one do it?");
    let stuck = StuckAttempt {
        attempt: made,
        reason,
        failure_class: completion.failure_class,
        is_refuted: completion.standing == Standing::Refuted,
    };
    let ask = requests::draft(run, Some(task), message, &ApprovalRequirement::default());
    // The answer is about no file: what was approved before stays approved or not.
    let covers_steps = Vec::new();
    requests::open(run, ApprovalRequest { stuck: Some(stuck), show, covers_steps, ..ask });
}

/// Lets a stuck step make another attempt, which is told the answer.
pub(in crate::machine) fn on_stuck_answered(run: &mut Run, task: TaskIx, stuck: &StuckAttempt) {
    let (made, reason) = (stuck.attempt, stuck.reason.clone());
    let failure = stuck.failure("a person answered, but the budget is spent");
    run.then(FollowUp::RetryGuided { task, made, reason, completion: failure });
}

/// Ends a stuck step that nobody guides.
pub(in crate::machine) fn on_stuck_denied(run: &mut Run, task: TaskIx, stuck: &StuckAttempt, reason: &str) {
    run.then(FollowUp::EndTask { task, completion: stuck.failure(reason) });
}
