//! The calls a model asks for, read by the tool they name.

use wf_core::{
    agent::{
        AgentRequest, ChildRequest, ChildRequestMistake, McpCallMistake, McpRequest, SkillRequestMistake,
        SkillScriptCall, ToolCall, ToolMistake, ToolRequest, find_script, parse_call, read_collect,
        read_dispatch,
    },
    calls::{call_of_url, calls_of_script},
    memory::{MemoryQuery, NoteDraft},
};
use wf_exec::fetch::{FetchAddressMistake, FetchTarget};

use super::session::AgentSession;

/// A valid call of an agent: who carries it out, and what.
pub(super) enum AgentCall<'a> {
    Server(McpRequest),
    /// A process in the sandbox.
    Sandbox(ToolRequest),
    Script(SkillScriptCall<'a>),
    /// A person, who has answered before it begins.
    Ask,
    /// The memory of the workspace.
    Memory(MemoryQuery),
    /// The memory of the workspace, to which a note is added.
    Remember(NoteDraft),
    /// A host on the network.
    Fetch(FetchTarget),
    /// The machine, which starts child runs and knows how they ended.
    Children(ChildRequest),
}

/// The mistake in a call, in one sentence for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum AgentCallMistake {
    #[error("{mistake}{}", server_tools_hint(.mistake, .server_tools))]
    Tool {
        mistake: ToolMistake,
        /// The tools of MCP servers, which the mistake does not name.
        server_tools: Vec<String>,
    },
    #[error(transparent)]
    Server(#[from] McpCallMistake),
    #[error(transparent)]
    Fetch(#[from] FetchAddressMistake),
    #[error(transparent)]
    Script(#[from] SkillRequestMistake),
    #[error(transparent)]
    Child(#[from] ChildRequestMistake),
}

/// Lists the tools of MCP servers where the name of a tool was wrong.
fn server_tools_hint(mistake: &ToolMistake, server_tools: &[String]) -> String {
    match mistake {
        ToolMistake::UnknownTool { .. } if !server_tools.is_empty() => {
            let names: Vec<String> = server_tools.iter().map(|name| format!("`{name}`")).collect();
            format!("; its MCP servers have {}", names.join(", "))
        }
        _ => String::new(),
    }
}

impl AgentSession {
    /// Parses a call of the model.
    pub(super) fn parse(&self, call: &ToolCall) -> Result<AgentCall<'_>, AgentCallMistake> {
        if let Some(parsed) = self.servers.parse(call) {
            return Ok(AgentCall::Server(parsed?));
        }
        let parsed = parse_call(&self.tools, call)
            .map_err(|mistake| AgentCallMistake::Tool { mistake, server_tools: self.servers.tool_names() })?;
        Ok(match parsed {
            AgentRequest::Sandbox(request) => AgentCall::Sandbox(request),
            AgentRequest::Ask(_) => AgentCall::Ask,
            AgentRequest::Memory(query) => AgentCall::Memory(query),
            AgentRequest::Remember(draft) => AgentCall::Remember(draft),
            AgentRequest::Fetch(url) => AgentCall::Fetch(FetchTarget::parse(&url, &self.hosts)?),
            AgentRequest::Skill(request) => AgentCall::Script(find_script(&self.skills, &request)?),
            AgentRequest::Dispatch(request) => {
                AgentCall::Children(read_dispatch(self.dispatch.as_deref(), &request)?)
            }
            AgentRequest::Collect(id) => AgentCall::Children(read_collect(&id)?),
        })
    }
}

impl AgentCall<'_> {
    /// Returns the request about child runs, if it is one.
    pub(super) fn children(self) -> Option<ChildRequest> {
        match self {
            Self::Children(request) => Some(request),
            _ => None,
        }
    }

    /// Returns the calls it makes, of a script or to a host.
    pub(super) fn calls(&self) -> Vec<String> {
        match self {
            Self::Sandbox(ToolRequest::Run { script, .. }) => calls_of_script(script).into_iter().collect(),
            Self::Fetch(target) => call_of_url(target.address()).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// True if a call may be executed twice.
    pub(super) fn is_repeatable(&self) -> bool {
        match self {
            Self::Sandbox(request) => match request {
                ToolRequest::Read { .. }
                | ToolRequest::List { .. }
                | ToolRequest::Search { .. }
                | ToolRequest::Write { .. } => true,
                ToolRequest::Edit { .. } | ToolRequest::Run { .. } => false,
            },
            Self::Ask | Self::Memory(_) | Self::Remember(_) | Self::Fetch(_) => true,
            Self::Server(_) | Self::Script(_) | Self::Children(_) => false,
        }
    }
}
