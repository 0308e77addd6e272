//! The program of an agent, and its requests from one turn to the next.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::calls::PendingCall;
use super::process::ClientProcess;
use crate::models::bodies::CallBodies;
use wf_base::digest::Sha256Digest;
use wf_base::time::Moment;
use wf_core::agent::ModelRequest;
use wf_core::machine::{AgentRecord, ClientReply, InvalidAnswer};
use wf_exec::WorkError;
use wf_model::{AgentEngine, AgentWork};

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
    pub(in crate::agent) fn of(
        work: &AgentWork,
        record: Option<&AgentRecord>,
        first_request: &ModelRequest,
        bodies: &CallBodies,
    ) -> Result<Option<Self>, WorkError> {
        if !work.engine.is_client() {
            return Ok(None);
        }
        let instructions = match record {
            Some(record) => bodies.get(&record.request)?,
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
        if !self.replies.iter().any(|known| known.request == request) {
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
