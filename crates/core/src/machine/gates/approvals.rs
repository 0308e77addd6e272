//! The requests for approval: those of steps, of gates, and of whoever else needs a decision of people.

use std::sync::Arc;

use crate::{
    gate::GateResult,
    machine::{
        gates::escalation::GateBlock,
        state::{
            self, Run, TaskIx,
            fold::task_end::TaskCompletion,
            follow_up::FollowUp,
            requests,
            scope::{self, TaskScope},
        },
        words::{
            AnswerOptions, AnswerOptionsError, ApprovalRequest, AttemptEnd, GatePoint, Standing, WorkExit,
        },
    },
};
use wf_model::{JsonObject, StepWork, expr::EvalError};

/// A request for a decision about a block.
pub(in crate::machine) struct ApprovalDraft {
    pub(in crate::machine) message: String,
    pub(in crate::machine) block: GateBlock,
    /// The escalation that follows if no answer arrives.
    pub(in crate::machine) fallback: Option<String>,
    pub(in crate::machine) queue: Option<String>,
}

/// Requests the decision of a step.
pub(in crate::machine) fn ask_step(run: &mut Run, task: TaskIx) {
    let plan = Arc::clone(run.plan());
    let StepWork::Approve(approve) = &plan.step(task.ix()).work else {
        return;
    };
    let view = TaskScope { plan: run.plan(), state: run.state(), task: Some(task) };
    let message = approve.message.render(&view);
    let values = approve.show.iter();
    let show = values.map(|(name, value)| Ok((name.to_string(), value.value(&view)?)));
    let question = message.and_then(|message| Ok((message, show.collect::<Result<_, EvalError>>()?)));
    let answer = approve.answer.as_ref().map(|kind| AnswerOptions::of(kind, &view)).transpose();
    let question = question.map_err(AnswerOptionsError::from);
    let (message, show, answer) = match question.and_then(|(message, show)| Ok((message, show, answer?))) {
        Ok(question) => question,
        Err(error) => {
            let end = TaskCompletion::unstartable(error.to_string());
            return run.then(FollowUp::EndTask { task, completion: end });
        }
    };
    let ask = requests::draft(run, Some(task), message, &approve.needs);
    requests::open(run, ApprovalRequest { show, answer, ..ask });
}

/// Requests the approvals that gates demand: those of one gate after the other if the gates do
/// not ask the same approvers, so that each gets what it demands.
pub(in crate::machine) fn ask_for(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    gates: Vec<GateResult>,
    rewritten: JsonObject,
) {
    if gates.is_empty() {
        return;
    }
    let show = shown_values(run, task, point);
    let ask = requests::draft_of_gates(run, task, point, gates);
    requests::open(run, ApprovalRequest { show, rewritten, ..ask });
}

/// Requests a decision about a block.
pub(in crate::machine) fn ask_people(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    draft: ApprovalDraft,
) {
    let GateBlock { gate, reason, tried_escalations, rest, rewritten, .. } = draft.block;
    let needs = requests::needs_of(run, task, point, &gate);
    let ask = requests::draft(run, task, draft.message, &needs);
    let show = shown_values(run, task, point);
    requests::open(
        run,
        ApprovalRequest {
            point: Some(point),
            gates: vec![gate],
            deferred_results: rest,
            show,
            rewritten,
            queue: draft.queue,
            fallback: draft.fallback,
            tried_escalations: tried_escalations.into_iter().collect(),
            reason: Some(reason),
            ..ask
        },
    );
}

/// Returns the values shown with a request about a task or the run.
fn shown_values(run: &Run, task: Option<TaskIx>, point: GatePoint) -> JsonObject {
    let record = task.and_then(|task| run.state().task_record(task));
    let mut show = JsonObject::new();
    match point {
        GatePoint::Start => show.insert("params".into(), run.state().params().clone().into()),
        GatePoint::Leave => record
            .and_then(|record| record.result())
            .and_then(|result| show.insert("outputs".into(), result.outputs.clone().into())),
        GatePoint::Publish => show.insert("outputs".into(), scope::plan_outputs(run).0.into()),
        GatePoint::Enter
        | GatePoint::Again
        | GatePoint::Call
        | GatePoint::Request
        | GatePoint::Reply
        | GatePoint::Result => None,
    };
    if let Some(item) = task.and_then(|task| run.state().item(task)) {
        show.insert("item".into(), item.value.clone());
    }
    show
}

/// Ends the attempt of a step that waited for a decision. A refusal is final: the request is
/// not repeated.
pub(in crate::machine) fn decide(run: &mut Run, task: TaskIx, exit: WorkExit, outputs: JsonObject) {
    let Some(live) = run.state().activity(task) else {
        return;
    };
    let attempt = state::attempt(run.plan(), task, live.attempt);
    if let WorkExit::Error { reason, failure_class } = &exit {
        let end = TaskCompletion::failure(Standing::Unchecked, Some(*failure_class), reason.clone());
        run.end_attempt(attempt, exit);
        return run.then(FollowUp::EndTask { task, completion: end });
    }
    run.then(FollowUp::EndAttempt(Box::new(AttemptEnd { outputs, ..AttemptEnd::new(attempt, exit) })));
}
