//! The MCP servers of an agent: their start, their tools and the calls of these.

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::{Mutex, watch};

use wf_base::{name::Name, redact::SecretMask};
use wf_core::{
    agent::{
        McpCallMistake, McpListMistake, McpRequest, McpToolList, ToolCall, ToolDefinition, parse_mcp_call,
        read_mcp_answer,
    },
    health::{BreakerNote, CallEnd, CallTarget},
};
use wf_exec::{
    StopLevel, WorkError,
    mcp::{McpFailure, McpLimits, McpLink},
    process::ProcessCommand,
};
use wf_model::McpServer;

use super::journal::AgentLog;
use crate::{models::health::StoredHealth, run::attempt_task::BreakerNotes};

/// The life of a server where the attempt has no timeout.
const MAX_LIFE: Duration = Duration::from_hours(24 * 30);

/// The maximum time of a call.
const CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// The place where servers are started, and what is known of them.
pub(super) struct ServerPlace<'a> {
    /// The environment and the sandbox of the step's scripts.
    pub(super) command: &'a ProcessCommand,
    pub(super) limits: McpLimits,
    pub(super) health: StoredHealth,
    /// The mask for the words of servers: they get the secrets of the step.
    pub(super) mask: SecretMask,
    /// The changes of breakers the attempt caused.
    pub(super) breakers: &'a BreakerNotes,
}

/// The answer to a call of a tool.
pub(super) struct ServerAnswer {
    /// The text, masked by nobody.
    pub(super) text: String,
    pub(super) is_error: bool,
    /// The change of the server's breaker.
    pub(super) breaker: Option<BreakerNote>,
}

/// The servers of an agent, at work. Dropping them kills their processes.
pub(super) struct AgentServers {
    health: StoredHealth,
    servers: Vec<McpServer>,
    definitions: Vec<ToolDefinition>,
    links: Mutex<BTreeMap<Name, McpLink>>,
    /// The stop of the processes, which ends with the agent.
    stop: watch::Sender<StopLevel>,
}

impl AgentServers {
    /// Starts servers where the scripts of a step are started, and checks that they list what was reviewed. A different
    /// list is written to the log, for review.
    pub(super) async fn start(
        servers: Vec<McpServer>,
        place: ServerPlace<'_>,
        log: &mut AgentLog,
    ) -> Result<Self, WorkError> {
        let mut started = Self {
            health: place.health.clone(),
            servers: Vec::new(),
            definitions: Vec::new(),
            links: Mutex::default(),
            stop: watch::channel(StopLevel::No).0,
        };
        for server in servers {
            let began = started.begin(server, &place, log).await;
            began.map_err(|unable| WorkError {
                reason: place.mask.text(&unable.reason).into_owned(),
                ..unable
            })?;
        }
        Ok(started)
    }

    /// Starts a server, unless it is left alone.
    async fn begin(
        &mut self,
        server: McpServer,
        place: &ServerPlace<'_>,
        log: &mut AgentLog,
    ) -> Result<(), WorkError> {
        let target = CallTarget::mcp_server(&server.name);
        place.health.admit(target.clone()).await?;
        let command =
            ProcessCommand { argv: server.command.clone(), input: None, pins: None, ..place.command.clone() };
        let opened = open(&command, place.limits, self.stop.subscribe()).await;
        if let Some(end) = call_end(&opened, CallEnd::Contact, &place.mask)
            && let Some(note) = place.health.note_call(target, end).await
        {
            log.write_note(&format!("[breaker] {note}"));
            place.breakers.extend([note]);
        }
        let (link, listed) = opened.map_err(|failure| {
            WorkError::environmental(format!("the MCP server `{}` failed: {failure}", server.name))
        })?;
        let logical = |mistake: McpListMistake| WorkError::logical(mistake.to_string());
        let list = McpToolList::read(&server, &listed).map_err(logical)?;
        if let Err(mistake) = list.check_pinned(&server) {
            list.definitions.iter().for_each(|tool| note_definition(tool, log));
            return Err(logical(mistake));
        }
        self.add(server, list, link)
    }

    fn add(&mut self, server: McpServer, list: McpToolList, link: McpLink) -> Result<(), WorkError> {
        for tool in list.definitions {
            if self.definitions.iter().any(|other| other.name == tool.name) {
                let name = tool.name;
                let reason =
                    format!("two MCP servers of the agent have the tool `{name}`; rename one of them");
                return Err(WorkError::logical(reason));
            }
            self.definitions.push(tool);
        }
        self.links.get_mut().insert(server.name.clone(), link);
        self.servers.push(server);
        Ok(())
    }

    /// Returns the definitions of the tools, for a model.
    pub(super) fn masked_definitions(&self, mask: &SecretMask) -> Vec<ToolDefinition> {
        let masked = self.definitions.iter().map(|tool| {
            let mut tool = tool.clone();
            tool.description = mask.text(&tool.description).into_owned();
            mask.value(&mut tool.arguments_schema);
            tool
        });
        masked.collect()
    }

    /// Parses a call; `None` if it calls no tool of these servers.
    pub(super) fn parse(&self, call: &ToolCall) -> Option<Result<McpRequest, McpCallMistake>> {
        parse_mcp_call(&self.servers, &self.definitions, call)
    }

    /// Returns the names of the tools, for a model.
    pub(super) fn tool_names(&self) -> Vec<String> {
        self.definitions.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Carries out a call, unless the server is left alone. `stop` ends the wait.
    pub(super) async fn call(
        &self,
        request: McpRequest,
        mask: &SecretMask,
        time_left: Option<Duration>,
        mut stop: watch::Receiver<StopLevel>,
    ) -> ServerAnswer {
        let failed = |text: String| ServerAnswer { text, is_error: true, breaker: None };
        let McpRequest { server, tool, arguments } = request;
        let mut links = self.links.lock().await;
        let Some(link) = links.get_mut(&server) else {
            return failed(format!("the MCP server `{server}` is not started"));
        };
        if let Some(end) = link.end() {
            return failed(format!("the MCP server `{server}` failed: {end}"));
        }
        let target = CallTarget::mcp_server(&server);
        if let Err(left_alone) = self.health.admit(target.clone()).await {
            return failed(left_alone.reason);
        }
        let timeout = time_left.map_or(CALL_TIMEOUT, |left| left.min(CALL_TIMEOUT));
        let stopped = async {
            if stop.wait_for(|stop| *stop != StopLevel::No).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let called = tokio::select! {
            () = stopped => return failed(format!("the call of the MCP server `{server}` was stopped")),
            called = link.call(&tool, arguments, timeout) => called,
        };
        let end = match &called {
            Err(McpFailure::Refused { .. }) => Some(CallEnd::Success),
            // The attempt had less time left than a call may take.
            Err(McpFailure::TimedOut(_)) if timeout < CALL_TIMEOUT => None,
            called => call_end(called, CallEnd::Success, mask),
        };
        let breaker = match end {
            Some(end) => self.health.note_call(target, end).await,
            None => None,
        };
        let (text, is_error) = match called {
            Ok(result) => read_mcp_answer(&result),
            Err(McpFailure::Refused { reason, .. }) => {
                (format!("the MCP server `{server}` refused the call: {reason}"), true)
            }
            Err(failure) => (format!("the MCP server `{server}` failed: {failure}"), true),
        };
        ServerAnswer { text, is_error, breaker }
    }
}

/// Starts a server, and returns its list.
async fn open(
    command: &ProcessCommand,
    limits: McpLimits,
    stop: watch::Receiver<StopLevel>,
) -> Result<(McpLink, Vec<serde_json::Value>), McpFailure> {
    let mut link = McpLink::open(command, limits, stop).await?;
    let listed = link.list().await?;
    Ok((link, listed))
}

/// Returns what the end of a request shows of a server; `None`: nothing.
fn call_end<T>(ended: &Result<T, McpFailure>, success: CallEnd, mask: &SecretMask) -> Option<CallEnd> {
    match ended {
        Ok(_) => Some(success),
        Err(failure) if failure.is_end_of_life() => None,
        Err(failure) => Some(CallEnd::Outage { error: mask.text(&failure.to_string()).into_owned() }),
    }
}

/// Returns the limits of a server in an attempt.
pub(super) fn server_limits(time_left: Option<Duration>, grace: Duration) -> McpLimits {
    McpLimits { life: time_left.unwrap_or(MAX_LIFE), grace }
}

/// Writes a definition in full: it is to be reviewed.
fn note_definition(tool: &ToolDefinition, log: &mut AgentLog) {
    let ToolDefinition { name, description, arguments_schema } = tool;
    log.write_note(&format!("[mcp] {name}: {description}\n[mcp] {name}: {arguments_schema}"));
}
