use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::{Mutex, watch};

use super::journal::AgentLog;
use wf_base::name::Name;
use wf_base::redact::SecretMask;
use wf_core::agent::{
    McpListMistake, McpRequest, McpToolList, ToolCall, ToolDefinition, ToolMistake, parse_mcp_call,
    read_mcp_answer,
};
use wf_exec::mcp::{McpFailure, McpLimits, McpLink};
use wf_exec::process::ProcessCommand;
use wf_exec::{StopLevel, WorkError};
use wf_model::McpServer;

/// The life of a server where the attempt has no timeout.
const MAX_LIFE: Duration = Duration::from_hours(24 * 30);

/// The maximum time of a call.
const CALL_TIMEOUT: Duration = Duration::from_mins(2);

/// The servers of an agent, at work. Dropping them kills their processes.
#[derive(Default)]
pub(super) struct AgentServers {
    servers: Vec<McpServer>,
    /// The definitions of their tools.
    definitions: Vec<ToolDefinition>,
    links: Mutex<BTreeMap<Name, McpLink>>,
    /// The stop of the processes, which ends with the agent.
    _stop: Option<watch::Sender<StopLevel>>,
}

impl AgentServers {
    /// Starts servers where the scripts of a step are started, and checks that they list what was reviewed. What they
    /// list instead is written to the log, for who reviews it.
    pub(super) async fn start(
        servers: Vec<McpServer>,
        place: &ProcessCommand,
        limits: McpLimits,
        log: &mut AgentLog,
    ) -> Result<Self, WorkError> {
        let (sender, stop) = watch::channel(StopLevel::No);
        let mut started = Self { _stop: Some(sender), ..Self::default() };
        for server in servers {
            let failed = |failure: McpFailure| {
                WorkError::environmental(format!("the MCP server `{}` failed: {failure}", server.name))
            };
            let command =
                ProcessCommand { argv: server.command.clone(), input: None, pins: None, ..place.clone() };
            let mut link = McpLink::open(&command, limits, stop.clone()).await.map_err(failed)?;
            let listed = link.list().await.map_err(failed)?;
            let logical = |mistake: McpListMistake| WorkError::logical(mistake.to_string());
            let list = McpToolList::read(&server, &listed).map_err(logical)?;
            if let Err(mistake) = list.check_pinned(&server) {
                list.definitions.iter().for_each(|tool| note_definition(tool, log));
                return Err(logical(mistake));
            }
            started.add(server, list, link)?;
        }
        Ok(started)
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
    pub(super) fn parse(&self, call: &ToolCall) -> Option<Result<McpRequest, String>> {
        parse_mcp_call(&self.servers, &self.definitions, call)
    }

    /// Returns a mistake for a model, with the tools of the servers if the name of a tool was wrong.
    pub(super) fn told(&self, mistake: &ToolMistake) -> String {
        let names: Vec<String> = self.definitions.iter().map(|tool| format!("`{}`", tool.name)).collect();
        match mistake {
            ToolMistake::UnknownTool { .. } if !names.is_empty() => {
                format!("{mistake}; its MCP servers have {}", names.join(", "))
            }
            _ => mistake.to_string(),
        }
    }

    /// Carries out a call, and returns its text, and true if it failed. `stop` ends the wait.
    pub(super) async fn call(
        &self,
        request: McpRequest,
        time_left: Option<Duration>,
        mut stop: watch::Receiver<StopLevel>,
    ) -> (String, bool) {
        let McpRequest { server, tool, arguments } = request;
        let mut links = self.links.lock().await;
        let Some(link) = links.get_mut(&server) else {
            return (format!("the MCP server `{server}` is not started"), true);
        };
        let timeout = time_left.map_or(CALL_TIMEOUT, |left| left.min(CALL_TIMEOUT));
        let stopped = async {
            if stop.wait_for(|stop| *stop != StopLevel::No).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = stopped => (format!("the call of the MCP server `{server}` was stopped"), true),
            called = link.call(&tool, arguments, timeout) => match called {
                Ok(result) => read_mcp_answer(&result),
                Err(McpFailure::Refused { reason, .. }) => {
                    (format!("the MCP server `{server}` refused the call: {reason}"), true)
                }
                Err(failure) => (format!("the MCP server `{server}` failed: {failure}"), true),
            },
        }
    }
}

/// Returns the limits of a server in an attempt.
pub(super) fn server_limits(time_left: Option<Duration>, grace: Duration) -> McpLimits {
    McpLimits { life: time_left.unwrap_or(MAX_LIFE), grace }
}

/// Writes a definition in full: it is to be reviewed.
fn note_definition(tool: &ToolDefinition, log: &mut AgentLog) {
    let ToolDefinition { name, description, arguments_schema } = tool;
    log.note(&format!("[mcp] {name}: {description}\n[mcp] {name}: {arguments_schema}"));
}
