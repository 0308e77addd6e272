use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use super::{
    call::{field, request_text, tokens_text},
    exchange::{BodyReader, CallBodyError, block, problem, read_body, section},
};
use wf_base::{
    name::{CallAsker, Name},
    units::plural,
    untrusted::{NAME, paint, untrusted},
};
use wf_core::{
    agent::{ModelReply, ModelRequest},
    machine::{AskedModel, CallEffort, Event, EventKind, PlannerRejection, TaskId},
};

/// A model call of a judge, a gate, a planner or a compactor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedCall {
    /// Its address in its run.
    pub address: String,
    /// The task it is about; `None`: the run.
    #[serde(skip)]
    pub task_id: Option<TaskId>,
    /// The attempt; `None` for a gate.
    #[serde(skip)]
    pub attempt: Option<u32>,
    /// The caller.
    #[serde(skip)]
    pub asker: CallAsker,
    /// Its number among the calls of this caller, from 1.
    #[serde(skip)]
    pub number: usize,
    /// The recorded facts.
    #[serde(flatten)]
    pub record: AskedModel,
}

/// A model call of a judge, a gate, a planner or a compactor, with the input of the model and its reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownAskedCall {
    /// The recorded facts.
    #[serde(flatten)]
    pub call: AskedCall,
    /// The request; absent if it cannot be read.
    #[serde(rename = "request_body", skip_serializing_if = "Option::is_none")]
    pub request: Option<ModelRequest>,
    /// The reply; absent without one.
    #[serde(rename = "reply_body", skip_serializing_if = "Option::is_none")]
    pub reply: Option<ModelReply>,
    /// The reasons why a stored text cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// The calls, and how many each caller made.
#[derive(Default)]
struct AskedFold {
    calls: Vec<AskedCall>,
    made: BTreeMap<String, usize>,
}

impl AskedCall {
    /// The events it is built from.
    pub const EVENTS: [&'static str; 6] = [
        "check_completed",
        "gate_evaluated",
        "planner_accepted",
        "planner_rejected",
        "guidance_ended",
        "compaction_ended",
    ];

    /// Returns the calls in events, in their order.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut fold = AskedFold::default();
        for event in events {
            fold.apply(&event.fact);
        }
        fold.calls
    }

    /// Returns the call as a person reads it, in the exchange of its run.
    pub fn exchange_text(&self, bodies: BodyReader<'_>) -> String {
        let AskedModel { model, effort: CallEffort { usage, cost, duration_ms, .. }, .. } = &self.record;
        let money = if cost.is_zero() { String::new() } else { format!(", {cost}") };
        let about = format!("{} + {} tokens{money}, {duration_ms} ms", usage.input, usage.output);
        let model = self.record.replied_by.as_ref().unwrap_or(model);
        let mut text =
            format!("{}\n", paint(NAME, &untrusted(&format!("{} with `{model}`", self.address)).to_string()));
        match read_body::<ModelRequest>(bodies, &self.record.request) {
            Ok(request) => request_text(&mut text, &request),
            Err(error) => problem(&mut text, error),
        }
        match self.reply(bodies) {
            Ok(reply) => {
                section(&mut text, &format!("call {} · {model} · {about}", self.address), "");
                block(&mut text, &reply.text);
            }
            Err(error) => {
                section(&mut text, &format!("call {} · failed", self.address), "");
                problem(&mut text, error);
            }
        }
        text
    }

    fn reply(&self, bodies: BodyReader<'_>) -> Result<ModelReply, CallBodyError> {
        match (&self.record.reply, &self.record.failure) {
            (Some(digest), _) => read_body(bodies, digest),
            (None, failure) => Err(CallBodyError::NoReply(failure.clone().unwrap_or_default())),
        }
    }
}

impl ShownAskedCall {
    /// Reads the bodies of a call.
    pub fn from_call(call: &AskedCall, bodies: BodyReader<'_>) -> Self {
        let mut unreadable = Vec::new();
        let mut note_problem = |error: CallBodyError| unreadable.push(error.to_string());
        let request = read_body(bodies, &call.record.request).map_err(&mut note_problem).ok();
        let reply = call.record.reply.is_some().then(|| call.reply(bodies));
        let reply = reply.and_then(|reply| reply.map_err(&mut note_problem).ok());
        Self { call: call.clone(), request, reply, unreadable }
    }

    /// Returns the call as a person reads it.
    pub fn text(&self) -> String {
        let AskedModel { model, replied_by, failure, effort, .. } = &self.call.record;
        let mut text = format!("model call {}\n", paint(NAME, &untrusted(&self.call.address).to_string()));
        field(&mut text, "asked", model.as_str());
        for note in &effort.breakers {
            field(&mut text, "breaker", &note.to_string());
        }
        for passed in &effort.passed_over {
            field(&mut text, "failed", &format!("{}: {}", passed.model, passed.reason));
        }
        field(&mut text, "fallback", replied_by.as_ref().map(Name::as_str).unwrap_or_default());
        field(&mut text, "failed", failure.as_deref().unwrap_or_default());
        field(&mut text, "tokens", &tokens_text(effort.usage));
        field(&mut text, "cost", &effort.cost.to_string());
        let requests = plural(effort.requests as usize, "request");
        field(&mut text, "took", &format!("{} ms · {requests}", effort.duration_ms));
        if let Some(request) = &self.request {
            request_text(&mut text, request);
        }
        if let Some(reply) = &self.reply {
            section(&mut text, &format!("reply · {}", reply.stop.as_str()), &reply.text);
        }
        for reason in &self.unreadable {
            problem(&mut text, reason);
        }
        text
    }
}

impl AskedFold {
    fn apply(&mut self, kind: &EventKind) {
        match kind {
            EventKind::CheckCompleted { attempt, verdict } => {
                let asker = CallAsker::Check(verdict.name.clone());
                for call in verdict.judgement.iter().flat_map(|judged| &judged.asked) {
                    let place = attempt.as_ref().map(|attempt| attempt.task_id.clone());
                    self.add(place, attempt.as_ref().map(|attempt| attempt.attempt), &asker, call);
                }
            }
            EventKind::GateEvaluated { task_id, result } => {
                if let Some(call) = &result.asked {
                    self.add(task_id.clone(), None, &CallAsker::Gate(result.gate.clone()), call);
                }
            }
            EventKind::PlannerAccepted { calls, .. }
            | EventKind::PlannerRejected(PlannerRejection { calls, .. }) => {
                for call in &calls.asked {
                    self.add(None, None, &CallAsker::Planner, call);
                }
            }
            EventKind::CompactionEnded(end) => {
                if let Some(call) = &end.asked {
                    let place = Some(end.attempt.task_id.clone());
                    self.add(place, Some(end.attempt.attempt), &CallAsker::Compactor, call);
                }
            }
            EventKind::GuidanceEnded(end) => {
                for call in &end.asked {
                    let place = Some(end.attempt.task_id.clone());
                    self.add(place, Some(end.attempt.attempt), &CallAsker::Planner, call);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, task_id: Option<TaskId>, attempt: Option<u32>, asker: &CallAsker, call: &AskedModel) {
        let mut address = task_id.as_ref().map_or_else(|| "run".to_owned(), TaskId::to_string);
        if let Some(attempt) = attempt {
            let _ = write!(address, "#{attempt}");
        }
        let _ = write!(address, ".{asker}");
        let number = self.made.entry(address.clone()).or_default();
        *number += 1;
        let (number, asker) = (*number, asker.clone());
        let _ = write!(address, ".{number}");
        self.calls.push(AskedCall { address, task_id, attempt, asker, number, record: call.clone() });
    }
}
