//! The guidance of a planner for an agent whose attempts fail (Silas 5.2.1): after three of them, the planner is
//! asked once in a round, and what it says goes to further attempts.
//!
//! The step waits in the meantime, and takes up no room. The answer is checked against what is blocked, and recorded
//! either way. **Invariant:** guidance lets a step reach no more, and proves nothing: it is text for the next attempt.

use crate::{
    agent::{authoring::MemoryCalibration, read_guidance},
    machine::{
        state::{
            self, Run, TaskIx, feedback, fold::task_end::TaskCompletion, follow_up::FollowUp,
            task_phase::ActivityKind, tool_choice,
        },
        words::{
            Attempt, Effect, EventKind, GuidanceEnd, GuidanceOutcome, GuidanceReply, GuidanceRequest,
            GuidanceStart, Standing, reason::truncate_reason,
        },
    },
};
use wf_model::CheckPhase;

/// The maximum number of failed criteria that the planner is told.
const MOST_CRITERIA: usize = 10;

/// Asks the planner about a failed attempt.
pub(in crate::machine) fn ask_about_attempt(run: &mut Run, task: TaskIx, made: u32, reason: String) {
    let attempt = state::attempt(run.plan(), task, made);
    let reason = truncate_reason(reason);
    run.emit(EventKind::GuidanceRequested(GuidanceStart { attempt: attempt.clone(), reason }));
    request_guidance(run, task, attempt);
}

/// Asks the planner, also again after a resume.
pub(in crate::machine) fn request_guidance(run: &mut Run, task: TaskIx, attempt: Attempt) {
    if let Some(request) = guidance_request(run, task, attempt) {
        run.push_effect(Effect::Guide { request: Box::new(request) });
    }
}

fn guidance_request(run: &Run, task: TaskIx, attempt: Attempt) -> Option<GuidanceRequest> {
    let work = run.agent_work(task)?;
    let mut feedback = *feedback::correction(run, task)?;
    feedback.failed.truncate(MOST_CRITERIA);
    let tools = work.tools.iter().map(|tool| tool.as_str().to_owned());
    Some(GuidanceRequest {
        attempt,
        plan: run.plan().id().clone(),
        intent: tool_choice::intent(run),
        briefing: work.briefing.clone(),
        tools: tools.collect(),
        feedback,
        rounds: run.state().control.rounds(),
        must_not: tool_choice::restrictions_of_names(run, &tool_choice::blocked_by_rounds(run), &[]),
        calibration: MemoryCalibration::default(),
        should_prefer: tool_choice::preferred_tools(run),
    })
}

/// Applies the planner's answer, or the reason why none counts, and decides about the task.
pub(in crate::machine) fn on_guidance(run: &mut Run, reply: GuidanceReply) {
    let GuidanceReply { attempt, said, must_not, calls, usage, asked } = reply;
    let Some((task, _)) = run.current_activity(&attempt, ActivityKind::Consulting) else {
        return;
    };
    let read = if run.is_halting(task) {
        Err("the step is being cancelled".into())
    } else {
        let must_not =
            tool_choice::restrictions_of_names(run, &tool_choice::blocked_by_rounds(run), &must_not);
        Result::from(said)
            .and_then(|text: String| read_guidance(&text, &must_not).map_err(|mistake| mistake.to_string()))
    };
    let outcome = match read {
        Ok(guidance) => GuidanceOutcome::Given { guidance },
        Err(why) => GuidanceOutcome::Refused { reason: truncate_reason(why) },
    };
    let made = attempt.attempt;
    run.emit(EventKind::GuidanceEnded(GuidanceEnd { attempt, outcome, calls, usage, asked }));
    if run.is_halting(task) {
        let end = TaskCompletion::cancelled(run.halting_reason());
        return run.then(FollowUp::EndTask { task, completion: end });
    }
    go_on_after_guidance(run, task, made);
}

/// Decides what follows a failed attempt once the planner was asked about it.
fn go_on_after_guidance(run: &mut Run, task: TaskIx, made: u32) {
    let record = run.state().task_record(task);
    let known = record.and_then(|record| Some((record.guidance()?, record.history()?)));
    let Some((guidance, tries)) = known else { return };
    let (reason, failure_class) = (guidance.reason.clone(), tries.failure_class);
    let standing = match tries.failed.first().map(|failed| failed.phase) {
        Some(CheckPhase::Verify) => Standing::Refuted,
        Some(phase) => {
            return run.then(FollowUp::Rework { task, made, phase, failure_class, reason });
        }
        None => Standing::Unchecked,
    };
    let failure = TaskCompletion::failure(standing, failure_class, reason);
    run.then(FollowUp::RetryOrFail { task, made, asked: None, completion: failure });
}
