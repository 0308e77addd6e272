use serde::{Deserialize, Serialize};

use wf_base::keywords;
use wf_base::name::{Name, PlanId};

keywords! {
    /// The kind of what is called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TargetKind {
        /// A model of wf.yaml.
        Model = "model",
        /// An MCP server of wf.yaml.
        McpServer = "mcp_server",
        /// A connection: the service that it is an account at.
        Connection = "connection",
    }
}

impl TargetKind {
    /// Returns it as texts for people name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::McpServer => "MCP server",
            Self::Connection => "connection",
        }
    }
}

/// Something that is called, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallTarget {
    /// Its kind.
    pub kind: TargetKind,
    /// Its name among its kind.
    pub name: String,
}

impl CallTarget {
    /// Returns a model as a target.
    pub fn model(name: &Name) -> Self {
        Self { kind: TargetKind::Model, name: name.to_string() }
    }

    /// Returns an MCP server as a target.
    pub fn mcp_server(name: &Name) -> Self {
        Self { kind: TargetKind::McpServer, name: name.to_string() }
    }

    /// Returns a connection as a target.
    pub fn connection(name: &PlanId) -> Self {
        Self { kind: TargetKind::Connection, name: name.to_string() }
    }
}

impl std::fmt::Display for CallTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.kind.label(), self.name)
    }
}
