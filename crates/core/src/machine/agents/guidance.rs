//! The guidance of a planner for an agent whose attempts fail (Silas 5.2.1): after three of them, the planner is
//! asked once in a round, and what it says goes to further attempts.
//!
//! The step waits in the meantime, and takes up no room. The answer is checked against what is blocked, and recorded
//! either way. **Invariant:** guidance lets a step reach no more, and proves nothing: it is text for the next attempt.

use std::sync::Arc;

use crate::agent::authoring::MemoryCalibration;
use crate::agent::read_guidance;
use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::task_phase::ActivityKind;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::reason::truncate_reason;
use crate::machine::words::{
    Attempt, Effect, EventKind, GuidanceEnd, GuidanceOutcome, GuidanceReply, GuidanceRequest, GuidanceStart,
    Standing,
};
use wf_model::{CheckPhase, FailureClass};

/// The number of failed attempts after which the planner is asked.
pub const ATTEMPTS_BEFORE_GUIDANCE: u32 = 3;

/// The maximum number of failed criteria that the planner is told.
const MOST_CRITERIA: usize = 10;

impl Run {
    /// Asks the planner about a failed attempt, if the step consults it now. True if it is being asked.
    pub(in crate::machine) fn ask_for_guidance(
        &mut self,
        task: TaskIx,
        made: u32,
        failure_class: Option<FailureClass>,
        reason: &str,
    ) -> bool {
        let Some(record) = self.state.task_record(task) else {
            return false;
        };
        let enough = made.saturating_sub(record.base) >= ATTEMPTS_BEFORE_GUIDANCE;
        let first = record.guidance.is_none() && made < u32::MAX;
        let consults = self.plan.step(task.ix()).on_stuck.guides(self.plan.parts().planner.as_ref());
        // A planner knows no remedy for an environment that fails.
        let logical = failure_class == Some(FailureClass::Logical);
        let open = enough && first && consults && logical && self.agent_work(task).is_some();
        if !open || !self.affords(task) {
            return false;
        }
        let attempt = state::attempt(&self.plan, task, made);
        let reason = truncate_reason(reason.to_owned());
        self.emit(EventKind::GuidanceRequested(GuidanceStart { attempt: attempt.clone(), reason }));
        self.request_guidance(task, attempt);
        true
    }

    /// Asks the planner, also again after a resume.
    pub(in crate::machine) fn request_guidance(&mut self, task: TaskIx, attempt: Attempt) {
        if let Some(request) = self.guidance_request(task, attempt) {
            self.turn.effects.push(Effect::Guide { request: Box::new(request) });
        }
    }

    fn guidance_request(&self, task: TaskIx, attempt: Attempt) -> Option<GuidanceRequest> {
        let work = self.agent_work(task)?;
        let mut feedback = *self.correction(task)?;
        feedback.failed.truncate(MOST_CRITERIA);
        let tools = work.tools.iter().map(|tool| tool.as_str().to_owned());
        Some(GuidanceRequest {
            attempt,
            plan: self.plan.id().clone(),
            intent: self.intent(),
            briefing: work.briefing.clone(),
            tools: tools.collect(),
            feedback,
            rounds: self.state.control.rounds,
            must_not: self.restrictions_of_names(&self.blocked_by_rounds(), &[]),
            calibration: MemoryCalibration::default(),
            should_prefer: self.preferred_tools(),
        })
    }

    /// Applies the planner's answer, or the reason why there is none that counts, and decides what follows.
    pub(in crate::machine) fn on_guidance(&mut self, reply: GuidanceReply) {
        let GuidanceReply { attempt, said, must_not, calls, usage, asked } = reply;
        let Some((task, _)) = self.current_activity(&attempt, ActivityKind::Consulting) else {
            return;
        };
        let read = if self.is_halting(task) {
            Err("the step is being cancelled".into())
        } else {
            let must_not = self.restrictions_of_names(&self.blocked_by_rounds(), &must_not);
            Result::from(said).and_then(|text: String| read_guidance(&text, &must_not))
        };
        let outcome = match read {
            Ok(guidance) => GuidanceOutcome::Given { guidance },
            Err(why) => GuidanceOutcome::Refused { reason: truncate_reason(why) },
        };
        let made = attempt.attempt;
        self.emit(EventKind::GuidanceEnded(GuidanceEnd { attempt, outcome, calls, usage, asked }));
        if self.is_halting(task) {
            return self.finish(task, TaskCompletion::cancelled(self.halting_reason()));
        }
        self.go_on_after_guidance(task, made);
    }

    /// Decides what follows a failed attempt once the planner was asked about it.
    fn go_on_after_guidance(&mut self, task: TaskIx, made: u32) {
        let record = self.state.task_record(task);
        let known = record.and_then(|record| Some((record.guidance.as_ref()?, record.tries.as_ref()?)));
        let Some((guidance, tries)) = known else { return };
        let (reason, failure_class) = (guidance.reason.clone(), tries.failure_class);
        match tries.failed.first().map(|failed| failed.phase) {
            Some(CheckPhase::Verify) => self.on_refuted_attempt(task, made, failure_class, reason),
            Some(phase) => {
                let attempt = state::attempt(&Arc::clone(&self.plan), task, made);
                self.rework(task, &attempt, phase, failure_class, reason);
            }
            None => {
                let failure = TaskCompletion::failure(Standing::Unchecked, failure_class, reason);
                self.retry_or_fail(task, made, None, failure);
            }
        }
    }
}
