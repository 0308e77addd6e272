//! The program of an agent, its queue of requests, and what stays of them from one turn to the next.

use std::collections::BTreeMap;

use tokio::sync::{mpsc, oneshot};

use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::{
    agent::{ModelReply, ModelRequest},
    machine::{AgentRecord, ClientReply, InvalidAnswer},
};
use wf_exec::WorkError;
use wf_gateway::server::{CallRefusal, ClientCallFuture, ClientCalls, ClientRequest};
use wf_model::{AgentEngine, AgentWork, ModelDefinition};

use super::process::ClientProcess;
use crate::models::bodies::CallBodies;

/// The maximum number of waiting requests; a program has to wait before it sends more.
const QUEUE_LENGTH: usize = 16;

/// The program of an agent, and the requests it waits for.
pub(in crate::agent) struct ClientSession {
    pub(super) engine: AgentEngine,
    /// The command of a program of the plan's author.
    pub(super) words: Vec<String>,
    /// The instructions, as the first request of an agent.
    pub(super) instructions: ModelRequest,
    pub(super) queue: mpsc::Sender<PendingCall>,
    pub(super) calls: mpsc::Receiver<PendingCall>,
    /// The request of the model call under way.
    pub(super) pending_call: Option<PendingCall>,
    /// The replies that are recorded, for a program beginning anew after a crash. Each is given once.
    pub(super) replies: Vec<ClientReply>,
    pub(super) last_request: Option<Sha256Digest>,
    /// The time when the last reply was given.
    pub(super) replied: Moment,
    pub(super) process: Option<ClientProcess>,
    /// The answer it is begun again to repair.
    pub(super) invalid_answer: Option<InvalidAnswer>,
}

impl ClientSession {
    /// Creates the session of a program that does not run yet; `None` for the builtin loop. `first` is the first
    /// request of an agent that begins.
    pub(in crate::agent) fn new(
        work: &AgentWork,
        record: Option<&AgentRecord>,
        first_request: &ModelRequest,
        bodies: &CallBodies,
    ) -> Result<Option<Self>, WorkError> {
        if !work.engine.is_client() {
            return Ok(None);
        }
        let instructions = match record {
            Some(record) => bodies.load_body(&record.request)?,
            None => first_request.clone(),
        };
        let (queue, calls) = mpsc::channel(QUEUE_LENGTH);
        let recorded = record.map(AgentRecord::client_replies).unwrap_or_default();
        Ok(Some(Self {
            engine: work.engine,
            words: work.command.clone(),
            instructions,
            queue,
            calls,
            pending_call: None,
            replies: recorded,
            last_request: record.and_then(AgentRecord::last_client_request),
            replied: Moment::default(),
            process: None,
            invalid_answer: record.and_then(AgentRecord::repaired_answer).cloned(),
        }))
    }

    /// Adds the reply to the last request, for a program beginning anew: what it may do was decided while no program
    /// ran, for example by a person.
    pub(super) fn add_last_reply(&mut self, reply: Sha256Digest, refusals: &Refusals) {
        let Some(request) = self.last_request else {
            return;
        };
        if !self.replies.iter().any(|reply_before| reply_before.request == request) {
            self.replies.push(ClientReply { request, reply, refusals: refusals.clone() });
        }
    }

    /// Lets the program begin again to repair its answer: it asks anew, with any question before.
    pub(super) fn begin_repair(&mut self, invalid: &InvalidAnswer) {
        self.invalid_answer = Some(invalid.clone());
        self.replies.clear();
        self.last_request = None;
    }

    pub(super) fn take_recorded(&mut self, request: Sha256Digest) -> Option<ClientReply> {
        let at = self.replies.iter().position(|reply| reply.request == request)?;
        Some(self.replies.remove(at))
    }

    /// Ends the program.
    pub(in crate::agent) async fn end(&mut self) {
        self.pending_call = None;
        if let Some(process) = self.process.take() {
            process.end().await;
        }
    }
}

/// The reasons of the tool calls a program must not execute, by position in the reply.
pub(super) type Refusals = BTreeMap<u32, String>;

/// The status of all refusals: clients do not repeat such a request.
const BAD_REQUEST: u16 = 400;

/// A request of a program waiting for its reply.
pub(super) struct PendingCall {
    pub(super) request: ModelRequest,
    pub(super) reply: oneshot::Sender<Result<ModelReply, CallRefusal>>,
}

/// The calls of a program: a queue where its requests wait for their turn.
pub(super) struct CallQueue {
    pub(super) model: ModelDefinition,
    pub(super) queue: mpsc::Sender<PendingCall>,
}

impl ClientCalls for CallQueue {
    fn call(&self, client_request: ClientRequest) -> ClientCallFuture<'_> {
        Box::pin(async move {
            if client_request.model != self.model.name.as_str() {
                return Err(refuse(format!(
                    "this step works with the model `{}`, and `{}` is not available to it",
                    self.model.name, client_request.model
                )));
            }
            let mut request = client_request.request;
            let most = self.model.max_output;
            request.max_output = client_request.max_output.unwrap_or(most).min(most);
            let (reply, answer) = oneshot::channel();
            let over = || refuse("the attempt is over".to_owned());
            self.queue.send(PendingCall { request, reply }).await.map_err(|_| over())?;
            answer.await.unwrap_or_else(|_| Err(over()))
        })
    }
}

/// Refuses a request, so the program does not repeat it.
pub(super) fn refuse(reason: String) -> CallRefusal {
    CallRefusal::new(BAD_REQUEST, reason)
}
