use std::fmt::Write as _;

use wf_base::digest::Sha256Digest;
use wf_core::agent::{McpToolList, ToolDefinition};
use wf_model::McpServer;

/// The agreement of what a server lists with what is pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinState {
    /// It lists what is pinned.
    Same,
    /// It lists something else.
    Changed(Sha256Digest),
    /// Nothing is pinned.
    Unpinned,
}

/// The allowed tools of a server, as it describes them now.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolListing {
    pub digest: Sha256Digest,
    /// The agreement with `wf.yaml`.
    pub state: PinState,
    /// The definitions, as a model would get them.
    pub tools: Vec<ToolDefinition>,
}

impl ToolListing {
    pub(super) fn of(server: &McpServer, list: McpToolList) -> Self {
        let state = match server.digest {
            None => PinState::Unpinned,
            Some(pinned) if pinned == list.digest => PinState::Same,
            Some(pinned) => PinState::Changed(pinned),
        };
        Self { digest: list.digest, state, tools: list.definitions }
    }

    /// Returns the whole list as text, every line break and control character of a description kept: what shows it
    /// marks them.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for tool in &self.tools {
            let schema = serde_json::to_string_pretty(&tool.arguments_schema).unwrap_or_default();
            let _ = writeln!(text, "{}\n  {}", tool.name, tool.description.replace('\n', "\n  "));
            let _ = writeln!(text, "  arguments: {}\n", schema.replace('\n', "\n  "));
        }
        text
    }
}
