use wf_base::digest::Sha256Digest;
use wf_base::name::Name;

/// A server of the Model Context Protocol whose tools agents may call, as `wf.yaml` defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name in the workspace.
    pub name: Name,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The tools that agents may call, by the server's names of them.
    pub tools: Vec<String>,
    /// The digest of their names, descriptions and schemas, as somebody reviewed them; `None`: nobody has.
    pub digest: Option<Sha256Digest>,
}

impl McpServer {
    /// The maximum length of the name of a tool for a model, which is the limit of providers.
    pub const MAX_TOOL_NAME: usize = 64;

    /// Returns the name of a tool for a model.
    pub fn tool_name(&self, tool: &str) -> String {
        format!("{}__{tool}", self.name)
    }
}
