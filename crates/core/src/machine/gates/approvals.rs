//! The requests for approval: those of steps, of gates, and of whoever else needs a decision of people.

use crate::gate::GateResult;
use crate::machine::gates::escalation::GateBlock;
use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::scope::TaskScope;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::reason::truncate_reason;
use crate::machine::words::{
    AnswerOptions, ApprovalOutcome, ApprovalRequest, AttemptEnd, Effect, EventKind, GatePoint,
    RequestDecision, Standing, TimerKind, WorkExit, gates_at,
};
use crate::risk::{risk_from_step, risk_of_plan};
use wf_base::name::GateId;
use wf_model::expr::EvalError;
use wf_model::{ApprovalRequirement, ApprovalStep, JsonObject};

/// A request for a decision about a block.
pub(in crate::machine) struct ApprovalDraft {
    pub(in crate::machine) message: String,
    pub(in crate::machine) block: GateBlock,
    /// The escalation that follows if no answer arrives.
    pub(in crate::machine) fallback: Option<String>,
    pub(in crate::machine) queue: Option<String>,
}

impl Run {
    /// Requests the decision that a step consists of.
    pub(in crate::machine) fn ask_step(&mut self, task: TaskIx, approve: &ApprovalStep) {
        let view = TaskScope { plan: &self.plan, state: &self.state, task: Some(task) };
        let message = approve.message.render(&view);
        let values = approve.show.iter();
        let show = values.map(|(name, value)| Ok((name.to_string(), value.value(&view)?)));
        let question = message.and_then(|message| Ok((message, show.collect::<Result<_, EvalError>>()?)));
        let answer = approve.answer.as_ref().map(|kind| AnswerOptions::of(kind, &view)).transpose();
        let question = question.map_err(|error| error.to_string());
        let (message, show, answer) = match question.and_then(|(message, show)| Ok((message, show, answer?)))
        {
            Ok(question) => question,
            Err(error) => return self.end_unstartable(task, &error),
        };
        let ask = self.request(Some(task), message, &approve.needs);
        self.open_request(ApprovalRequest { show, answer, ..ask });
    }

    /// Requests the approvals that gates demand: those of one gate after the other if the gates do
    /// not ask the same approvers, so that each gets what it demands.
    pub(in crate::machine) fn ask_for(
        &mut self,
        task: Option<TaskIx>,
        point: GatePoint,
        gates: Vec<GateResult>,
        rewritten: JsonObject,
    ) {
        if gates.is_empty() {
            return;
        }
        let show = self.shown_values(task, point);
        let ask = self.request_of_gates(task, point, gates);
        self.open_request(ApprovalRequest { show, rewritten, ..ask });
    }

    /// Returns the request of the first gate, and of those that ask the same approvers; the others are deferred.
    pub(in crate::machine) fn request_of_gates(
        &self,
        task: Option<TaskIx>,
        point: GatePoint,
        gates: Vec<GateResult>,
    ) -> ApprovalRequest {
        let first = gates.first().map(|first| self.needs_of(task, point, &first.gate));
        let needs = first.unwrap_or_default();
        let same = |result: &GateResult| self.needs_of(task, point, &result.gate) == needs;
        let (now, then): (Vec<GateResult>, Vec<GateResult>) = gates.into_iter().partition(same);
        let reasons = now.iter().map(|result| match result.reason.as_str() {
            "" => format!("gate `{}` asks for approval", result.gate),
            reason => format!("gate `{}` asks for approval: {reason}", result.gate),
        });
        let message = reasons.collect::<Vec<_>>().join("; ");
        ApprovalRequest {
            point: Some(point),
            gates: now.into_iter().map(|result| result.gate).collect(),
            deferred_results: then,
            ..self.request(task, message, &needs)
        }
    }

    /// Requests a decision about a block.
    pub(in crate::machine) fn ask_people(
        &mut self,
        task: Option<TaskIx>,
        point: GatePoint,
        plea: ApprovalDraft,
    ) {
        let GateBlock { gate, reason, tried_escalations, rest, rewritten, .. } = plea.block;
        let needs = self.needs_of(task, point, &gate);
        let ask = self.request(task, plea.message, &needs);
        let show = self.shown_values(task, point);
        self.open_request(ApprovalRequest {
            point: Some(point),
            gates: vec![gate],
            deferred_results: rest,
            show,
            rewritten,
            queue: plea.queue,
            fallback: plea.fallback,
            tried_escalations: tried_escalations.into_iter().collect(),
            reason: Some(reason),
            ..ask
        });
    }

    /// Returns the approvers that a gate demands.
    fn needs_of(&self, task: Option<TaskIx>, point: GatePoint, id: &GateId) -> ApprovalRequirement {
        let mut gates = gates_at(&self.plan, task.map(TaskIx::ix), point);
        let gate = gates.find(|gate| gate.id == *id);
        gate.map(|gate| gate.approval.clone()).unwrap_or_default()
    }

    /// Returns the values shown with a request about a task or the run.
    fn shown_values(&self, task: Option<TaskIx>, point: GatePoint) -> JsonObject {
        let record = task.and_then(|task| self.state.task_record(task));
        let mut show = JsonObject::new();
        match point {
            GatePoint::Start => show.insert("params".into(), self.state.params.clone().into()),
            GatePoint::Leave => record
                .and_then(|record| record.result.as_ref())
                .and_then(|result| show.insert("outputs".into(), result.outputs.clone().into())),
            GatePoint::Publish => show.insert("outputs".into(), self.plan_outputs().0.into()),
            GatePoint::Enter
            | GatePoint::Again
            | GatePoint::Call
            | GatePoint::Request
            | GatePoint::Reply
            | GatePoint::Result => None,
        };
        if let Some(item) = task.and_then(|task| self.state.item(task)) {
            show.insert("item".into(), item.value.clone());
        }
        show
    }

    pub(in crate::machine) fn request(
        &self,
        task: Option<TaskIx>,
        message: String,
        needs: &ApprovalRequirement,
    ) -> ApprovalRequest {
        let plan = &self.plan;
        let covers_steps = match task {
            Some(task) => {
                let needed = plan.step(task.ix()).depends_on.iter();
                needed.map(|ix| plan.step(*ix).id.clone()).collect()
            }
            None => Vec::new(),
        };
        ApprovalRequest {
            request: self.state.asked + 1,
            place: task.map(|task| state::task_id(plan, task)),
            point: None,
            phase: None,
            tool_call: None,
            exchange: None,
            merge: None,
            stuck: None,
            gates: Vec::new(),
            deferred_results: Vec::new(),
            message: truncate_reason(message),
            risk: Some(match task {
                Some(task) => risk_from_step(plan, task.ix()),
                None => risk_of_plan(plan),
            }),
            show: JsonObject::new(),
            answer: None,
            rewritten: JsonObject::new(),
            required: needs.required,
            approvers: needs.approvers.clone(),
            escalate_to: needs.escalate_to.clone(),
            queue: None,
            fallback: None,
            tried_escalations: Vec::new(),
            reason: None,
            since: self.now,
            expires: self.now.after(needs.response_timeout()),
            covers_steps,
        }
    }

    pub(in crate::machine) fn open_request(&mut self, ask: ApprovalRequest) {
        self.emit(EventKind::ApprovalRequested(Box::new(ask.clone())));
        self.wait_for(ask);
    }

    /// Waits for a decision or the deadline.
    pub(in crate::machine) fn wait_for(&mut self, ask: ApprovalRequest) {
        let (number, at) = (ask.request, ask.expires);
        self.turn.effects.push(Effect::Ask(Box::new(ask)));
        self.set_timer(TimerKind::Ask { number }, at);
    }

    pub(in crate::machine) fn record_approval_outcome(&mut self, number: u32, outcome: ApprovalOutcome) {
        let pending = self.state.asks.get(&number);
        let place = pending.and_then(|pending| pending.ask.place.clone());
        self.emit(EventKind::ApprovalResolved { request: number, place, given: outcome });
        self.turn.effects.push(Effect::Dismiss { number });
    }

    /// Ends the attempt of a step that waited for a decision. A refusal is final: the request is
    /// not repeated.
    pub(in crate::machine) fn decide(&mut self, task: TaskIx, exit: WorkExit, outputs: JsonObject) {
        let Some(live) = self.state.activity(task) else {
            return;
        };
        let attempt = state::attempt(&self.plan, task, live.attempt);
        if let WorkExit::Error { reason, failure_class } = &exit {
            let end = TaskCompletion::failure(Standing::Unchecked, Some(*failure_class), reason.clone());
            self.end_attempt(attempt, exit);
            return self.finish(task, end);
        }
        self.on_attempt_end(AttemptEnd { outputs, ..AttemptEnd::new(attempt, exit) });
    }

    /// Withdraws the requests about a task.
    pub(in crate::machine) fn withdraw(&mut self, task: Option<TaskIx>) {
        let asks = self.state.asks.iter();
        let numbers = asks.filter(|(_, pending)| pending.task == task);
        let numbers: Vec<u32> = numbers.map(|(number, _)| *number).collect();
        for number in numbers {
            self.record_approval_outcome(number, ApprovalOutcome::unanswered(RequestDecision::Withdrawn));
        }
    }
}
