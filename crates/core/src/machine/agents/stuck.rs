//! The request to people about an agent that is stuck (`on_stuck: escalate`; Silas 5.2.1, 19.5.3): its attempts, the
//! guidance of a planner and re-planning are used up, and a person guides the next attempt, or lets the step fail.
//!
//! It is a question, answered as those of agents are, and the step waits for it without an engine. Each answer grants one
//! attempt. **Invariant:** an answer lets a step reach no more, and proves nothing: it is text for the next attempt.
//!
//! Where re-planning may still change the step, it fails, and its round decides. If the controller then has nothing left
//! to try, the round names the step in `escalated`: it is reopened, and people are asked before its next attempt.

use serde_json::Value;

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::reason::truncate_reason;
use crate::machine::words::{ApprovalRequest, FailedCheck, Standing, StuckAttempt};
use wf_model::{ApprovalRequirement, JsonObject, OnStuck};

impl StuckAttempt {
    /// Returns the end of its task if no person guides it.
    fn failure(&self, because: &str) -> TaskCompletion {
        let standing = if self.is_refuted { Standing::Refuted } else { Standing::Unchecked };
        TaskCompletion::failure(standing, self.failure_class, format!("{} ({because})", self.reason))
    }
}

impl Run {
    /// Ends a task with a failure after which no attempt is granted, unless people are asked first.
    pub(in crate::machine) fn fail_or_ask(&mut self, task: TaskIx, made: u32, failure: TaskCompletion) {
        if self.may_ask_people(task, made) {
            self.ask_people_about(task, made, failure);
        } else {
            self.finish(task, failure);
        }
    }

    fn may_ask_people(&mut self, task: TaskIx, made: u32) -> bool {
        let escalates = self.plan.step(task.ix()).on_stuck == OnStuck::Escalate;
        let open = escalates && made > 0 && made < u32::MAX && self.agent_work(task).is_some();
        open && !self.is_halting(task) && !self.may_replan(task) && self.affords(task)
    }

    /// Asks people about an escalated step before its next attempt. True if that is what it waits for now.
    pub(in crate::machine) fn ask_people_first(&mut self, task: TaskIx) -> bool {
        let Some(record) = self.state.task_record(task) else {
            return false;
        };
        let is_escalated = self.state.control.escalated.contains(&task.step);
        if !is_escalated || record.attempts_of_round() > 0 || record.person_guidance.is_some() {
            return false;
        }
        let (made, Some(tries)) = (record.attempts, record.tries.as_ref()) else {
            return false;
        };
        let reason = tries.failed.first().map(FailedCheck::describe).or_else(|| tries.exit.clone());
        let is_refuted = !tries.failed.is_empty();
        let standing = if is_refuted { Standing::Refuted } else { Standing::Unchecked };
        let failure = TaskCompletion::failure(standing, tries.failure_class, reason.unwrap_or_default());
        self.ask_people_about(task, made, failure);
        true
    }

    fn ask_people_about(&mut self, task: TaskIx, made: u32, failure: TaskCompletion) {
        let record = self.state.task_record(task);
        let failed = record.and_then(|record| record.tries.as_ref()).map_or(&[][..], |tries| &tries.failed);
        let line = |unmet: &FailedCheck| (unmet.criterion.to_string(), Value::from(unmet.describe()));
        let show: JsonObject = failed.iter().map(line).collect();
        let reason = truncate_reason(failure.reason);
        let message = format!(
            "attempt {made} failed, and no other is granted: {reason}. How should the next one do it?"
        );
        let stuck = StuckAttempt {
            attempt: made,
            reason,
            failure_class: failure.failure_class,
            is_refuted: failure.standing == Standing::Refuted,
        };
        let ask = self.request(Some(task), message, &ApprovalRequirement::default());
        // The answer is about no file: what was approved before stays approved or not.
        let covers_steps = Vec::new();
        self.open_request(ApprovalRequest { stuck: Some(stuck), show, covers_steps, ..ask });
    }

    /// Lets a stuck step make another attempt, which is told the answer.
    pub(in crate::machine) fn on_stuck_answered(&mut self, task: TaskIx, stuck: &StuckAttempt) {
        let next = stuck.attempt.checked_add(1).filter(|_| self.affords(task));
        let Some(next) = next else {
            return self.finish(task, stuck.failure("a person answered, but the budget is spent"));
        };
        let attempt = state::attempt(&self.plan, task, next);
        self.schedule_attempt(attempt, self.now, stuck.reason.clone(), None);
        self.queue_timer_anew(task);
    }

    /// Ends a stuck step that nobody guides.
    pub(in crate::machine) fn on_stuck_denied(&mut self, task: TaskIx, stuck: &StuckAttempt, reason: &str) {
        self.finish(task, stuck.failure(reason));
    }
}
