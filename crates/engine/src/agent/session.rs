//! The session of an agent at work, with its conversation, until its end is collected.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use wf_base::time::Moment;
use wf_core::{
    agent::{ContextCut, ModelReply, ModelRequest, ToolCall, ToolResult, read_answer},
    machine::{
        AgentEnding, AgentRecord, Attempt, AttemptEnd, CompactionReply, ModelCall, ModelCallEnd,
        ModelCallOutcome, ToolRecord, WorkExit,
    },
};
use wf_exec::{WorkError, process::ProcessCommand};
use wf_model::{AgentDispatch, AgentSkill, AgentTool, FetchHost, ModelDefinition, RequiredOutput};

use super::{
    client::ClientSession, conversation::ContinuedConversation, journal::AgentLog, mcp::AgentServers,
};
use crate::{
    files::reliance::ReliedEvidence,
    models::{bodies::CallBodies, call::ModelCallFailure},
    run::{AttemptTask, RunContext},
    session::{EngineError, UnitResult},
};

/// The working agents of a run.
#[derive(Default)]
pub(crate) struct LiveAgents(Mutex<BTreeMap<Attempt, Arc<AgentSession>>>);

/// An agent at work: its conversation, and the place where its tools run.
pub(crate) struct AgentSession {
    pub(super) task: AttemptTask,
    /// The start time of the attempt.
    pub(super) began: Moment,
    pub(super) model: ModelDefinition,
    pub(super) tools: Vec<AgentTool>,
    /// The plans it may start as child runs.
    pub(super) dispatch: Option<Box<AgentDispatch>>,
    /// The skills with scripts for the model.
    pub(super) skills: Vec<AgentSkill>,
    /// The hosts from which the model may fetch pages.
    pub(super) hosts: Vec<FetchHost>,
    /// The files and folders with untrusted text.
    pub(super) untrusted: Vec<String>,
    pub(super) servers: AgentServers,
    pub(super) outputs: Vec<RequiredOutput>,
    /// The environment and the sandbox of its tools; they bring their programs.
    pub(super) command: ProcessCommand,
    pub(super) reliance: Mutex<Option<ReliedEvidence>>,
    pub(super) bodies: CallBodies,
    pub(super) dialogue: tokio::sync::Mutex<AgentDialogue>,
    /// The program working as the agent, if it is one of its own.
    pub(super) client: Option<tokio::sync::Mutex<ClientSession>>,
    /// The conversation it continues, and what it was asked.
    pub(super) continued: Option<ContinuedConversation>,
}

/// The conversation of an agent.
pub(super) struct AgentDialogue {
    /// The last request that was, or is to be, sent.
    pub(super) request: ModelRequest,
    /// The last reply, until it is part of the next request.
    pub(super) reply: Option<ModelReply>,
    /// The failure of the last call.
    pub(super) failure: Option<ModelCallFailure>,
    /// The results of its tool calls, by position.
    pub(super) results: BTreeMap<u32, ToolResult>,
    /// The position of a tool call under way when an engine died.
    pub(super) interrupted: Option<u32>,
    /// The cut of the last request.
    pub(super) context: ContextCut,
    /// The log; `None` once it is closed.
    pub(super) log: Option<AgentLog>,
}

impl LiveAgents {
    pub(super) fn insert(&self, session: AgentSession) {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.insert(session.task.attempt.clone(), Arc::new(session));
    }

    /// Returns an agent at work. The machine names only briefed ones.
    pub(super) fn find_agent(&self, attempt: &Attempt) -> Result<Arc<AgentSession>, EngineError> {
        let agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(attempt).cloned().ok_or(EngineError::Stuck)
    }

    /// Forgets an agent that waited for an approval, and ends its log: the next engine writes it anew.
    pub(super) async fn close(&self, attempt: &Attempt) {
        let Ok(session) = self.remove(attempt) else {
            return;
        };
        if let Some(client) = &session.client {
            client.lock().await.end().await;
        }
        if let Some(log) = session.dialogue.lock().await.log.take() {
            log.finish();
        }
    }

    fn remove(&self, attempt: &Attempt) -> Result<Arc<AgentSession>, EngineError> {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.remove(attempt).ok_or(EngineError::Stuck)
    }
}

impl AgentDialogue {
    /// Begins with a first request.
    pub(super) fn begin(request: ModelRequest, log: AgentLog) -> Self {
        Self {
            request,
            reply: None,
            failure: None,
            results: BTreeMap::new(),
            interrupted: None,
            context: ContextCut::default(),
            log: Some(log),
        }
    }

    /// Builds the conversation anew from the recorded facts.
    pub(super) fn restore(
        bodies: &CallBodies,
        record: &AgentRecord,
        log: AgentLog,
    ) -> Result<Self, WorkError> {
        let mut dialogue = Self::begin(bodies.load_body(&record.request)?, log);
        let mut refusals = BTreeMap::new();
        for turn in &record.turns {
            match &turn.client {
                Some(client) => dialogue.begin_request(bodies.load_body(&client.request)?),
                None => dialogue.take_turn(&refusals, turn.repairs.as_deref()),
            }
            let Some(ModelCallOutcome::Replied { reply, .. }) = &turn.outcome else {
                continue;
            };
            dialogue.log_context(&turn.context);
            refusals = turn.refusals();
            let reply: ModelReply = bodies.load_body(reply)?;
            dialogue.log_reply(&reply);
            for (position, tool) in (0_u32..).zip(&turn.tools) {
                match tool {
                    ToolRecord::Ended { result, .. } => {
                        let result: ToolResult = bodies.load_body(result)?;
                        if let Some(call) = reply.tool_calls.get(position as usize) {
                            dialogue.log_tool(call, &result);
                        }
                        dialogue.results.insert(position, result);
                    }
                    ToolRecord::Started => dialogue.interrupted = Some(position),
                    ToolRecord::Refused(_) => {}
                }
            }
            dialogue.reply = Some(reply);
        }
        Ok(dialogue)
    }

    /// Returns the mistake in the last answer.
    pub(super) fn mistake(&self, outputs: &[RequiredOutput]) -> Option<String> {
        let answer = self.reply.as_ref().filter(|reply| reply.tool_calls.is_empty())?;
        read_answer(&answer.text, outputs).err().map(|mistake| mistake.to_string())
    }

    /// Notes the failure of a call, and returns its outcome.
    pub(super) fn fail(&mut self, failure: ModelCallFailure) -> ModelCallOutcome {
        self.failure = Some(failure.clone());
        let ModelCallFailure { reason, failure_class } = failure;
        ModelCallOutcome::Failed { reason, failure_class }
    }

    /// Makes what preceded a call part of the request, and notes it in the log.
    pub(super) fn begin_call(&mut self, call: &ModelCall) {
        if let Some(mistake) = &call.repairs {
            self.log_note(&format!("[asked to repair the answer] {mistake}"));
        }
        for reason in call.refusals.values() {
            self.log_note(&format!("[refused] {reason}"));
        }
        self.take_turn(&call.refusals, call.repairs.as_deref());
        self.log_context(&call.context);
    }

    /// Lets a model call fail before anything is sent.
    pub(super) fn fail_call(&mut self, error: WorkError, end: &mut ModelCallEnd) {
        let WorkError { reason, failure_class, .. } = error;
        end.outcome = self.fail(ModelCallFailure { reason, failure_class });
        end.effort.requests = 0;
    }

    /// Begins with the request a program of its own makes.
    pub(super) fn begin_request(&mut self, request: ModelRequest) {
        self.request = request;
        (self.reply, self.failure) = (None, None);
        self.results.clear();
    }

    /// Writes a reply to the log.
    pub(super) fn log_reply(&mut self, reply: &ModelReply) {
        if let Some(log) = &mut self.log {
            log.reply(reply);
        }
    }

    /// Writes a note of the engine to the log.
    pub(super) fn log_note(&mut self, text: &str) {
        if let Some(log) = &mut self.log {
            log.write_note(text);
        }
    }

    /// Writes a tool call and its result to the log.
    pub(super) fn log_tool(&mut self, call: &ToolCall, result: &ToolResult) {
        if let Some(log) = &mut self.log {
            log.tool(call, result);
        }
    }

    /// Notes in the log the compactor's answer.
    pub(super) fn log_compaction(&mut self, reply: &CompactionReply) {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match &reply.said {
            Ok(text) => self.log_note(&format!("[compactor] {}", one_line(text))),
            Err(why) => self.log_note(&format!("[compactor] no answer: {why}")),
        }
    }

    /// Notes in the log what the model gets no more from now on.
    pub(super) fn log_context(&mut self, context: &ContextCut) {
        if *context != self.context {
            self.context = context.clone();
            self.log_note(&format!("[context] {context}"));
        }
    }

    /// Makes the last reply, and what followed it, part of the request. `refusals` are the reasons of tool calls that
    /// were not executed, by position.
    pub(super) fn take_turn(&mut self, refusals: &BTreeMap<u32, String>, repairs: Option<&str>) {
        let Some(reply) = self.reply.take() else {
            return;
        };
        let results = self.results_of(&reply, refusals);
        self.results.clear();
        self.request.append_turn(reply, results, repairs);
    }

    /// Returns the request following the last reply.
    pub(super) fn next_request(
        &self,
        refusals: &BTreeMap<u32, String>,
        repairs: Option<&str>,
    ) -> ModelRequest {
        let mut request = self.request.clone();
        if let Some(reply) = &self.reply {
            request.append_turn(reply.clone(), self.results_of(reply, refusals), repairs);
        }
        request
    }

    /// Returns the results of the tool calls in a reply. The model does not get one that gates withheld.
    fn results_of(&self, reply: &ModelReply, refusals: &BTreeMap<u32, String>) -> Vec<ToolResult> {
        let calls = (0_u32..).zip(&reply.tool_calls);
        let of_call = calls.map(|(position, call)| {
            let refused = refusals.get(&position).cloned();
            let result = self.results.get(&position).filter(|_| refused.is_none()).cloned();
            result.unwrap_or_else(|| ToolResult {
                id: call.id.clone(),
                text: refused.unwrap_or_else(|| "the call was not executed".into()),
                is_error: true,
            })
        });
        of_call.collect()
    }
}

/// Collects what an agent left, and reports the end of its work. Its turn is in its conversation before that.
pub(crate) async fn end(run: Arc<RunContext>, ending: AgentEnding) -> UnitResult {
    let AgentEnding { attempt, exit, answer, untrusted } = ending;
    let session = run.agents.remove(&attempt)?;
    if let Some(client) = &session.client {
        client.lock().await.end().await;
    }
    let mut dialogue = session.dialogue.lock().await;
    if let Some(log) = dialogue.log.take() {
        log.finish();
    }
    let mut ended = AttemptEnd::new(attempt, exit);
    if ended.exit.is_success() {
        let answer = match (&session.client, answer) {
            (None, _) => dialogue.reply.as_ref().map(|reply| reply.text.clone()),
            (Some(_), Some(answer)) => match session.bodies.load_body(&answer) {
                Ok(answer) => Some(answer),
                Err(unable) => {
                    ended.exit = unable.into();
                    None
                }
            },
            (Some(_), None) => None,
        };
        if let (Some(answer), Some(own)) = (&answer, &session.continued) {
            own.add(&run, &session.task.attempt, answer, untrusted).await?;
        }
        // An invalid answer was judged before; what is missing then fails the attempt.
        ended.outputs = answer.and_then(|text| read_answer(&text, &session.outputs).ok()).unwrap_or_default();
    }
    let is_blocked = !ended.exit.is_success() && ended.exit != WorkExit::Cancelled;
    if let Some(own) = session.continued.as_ref().filter(|_| is_blocked) {
        own.add_blocked(&run, &session.task.attempt).await?;
    }
    let reliance = session.reliance.lock().unwrap_or_else(PoisonError::into_inner).take();
    session.task.collect(ended, reliance).await
}
