//! The tools of servers that speak the Model Context Protocol (MCP): what a server lists, and what it answers.
//!
//! A server is a program of others, and its descriptions are instructions to the model. So they reach one only as
//! somebody has reviewed them: their digest is pinned in `wf.yaml`. Nothing here talks to a server; `wf_exec::mcp`
//! does.
//!
//! **Invariant:** a tool the workspace does not allow, or whose description or schema has changed since it was
//! pinned, is neither shown to a model nor called.

use serde_json::{Map, Value, json};

use crate::agent::{ToolCall, ToolDefinition};
use wf_base::{digest::Sha256Digest, exact_json, name::Name};
use wf_model::{McpServer, SchemaError, ValueSchema};

#[cfg(test)]
mod tests;

/// The allowed tools of a server, as it describes them now, in the order of `wf.yaml`.
#[derive(Clone, Debug, PartialEq)]
pub struct McpToolList {
    /// The definitions for a model.
    pub definitions: Vec<ToolDefinition>,
    /// The digest of the server's names, descriptions and schemas of them.
    pub digest: Sha256Digest,
}

/// The reason why the tools of a server are not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpListMistake {
    /// The server does not have a tool.
    #[error(
        "the MCP server `{server}` has no tool `{tool}`; it has {known}; correct `mcp.{server}.tools` in wf.yaml"
    )]
    Missing {
        server: Name,
        tool: String,
        /// The tools it has.
        known: String,
    },
    /// The server lists two tools with the same name.
    #[error("the MCP server `{server}` lists the tool `{tool}` twice, so its tools are not used")]
    Twice { server: Name, tool: String },
    /// The schema of a tool is no schema.
    #[error("the MCP server `{server}` describes the arguments of `{tool}` by an invalid schema: {reason}")]
    Schema { server: Name, tool: String, reason: String },
    /// Nobody has reviewed the tools.
    #[error(
        "the tools of the MCP server `{server}` are not pinned; review and pin them: `wf mcp pin {server}`; or review \
         their descriptions in the log of the step, then write under `mcp.{server}` in wf.yaml: `digest: {found}`"
    )]
    Unpinned { server: Name, found: Sha256Digest },
    /// The tools differ from those reviewed.
    #[error(
        "the tools of the MCP server `{server}` have changed since they were pinned (digest {pinned}); review and \
         pin them: `wf mcp pin {server}`; or review their descriptions in the log of the step, then write under `mcp.{server}` in wf.yaml: `digest: {found}`"
    )]
    Changed {
        server: Name,
        /// The digest in `wf.yaml`.
        pinned: Sha256Digest,
        found: Sha256Digest,
    },
}

impl McpToolList {
    pub fn read(server: &McpServer, listed: &[Value]) -> Result<Self, McpListMistake> {
        let mut definitions = Vec::with_capacity(server.tools.len());
        let mut described = Vec::with_capacity(server.tools.len());
        for tool in &server.tools {
            let found = find(server, tool, listed)?;
            let schema = found.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"}));
            ValueSchema::new(schema.clone()).map_err(|error| McpListMistake::Schema {
                server: server.name.clone(),
                tool: tool.clone(),
                reason: error.to_string(),
            })?;
            let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default();
            described.push(json!([tool, text("title"), text("description"), in_order(&schema)]));
            definitions.push(ToolDefinition {
                name: server.tool_name(tool),
                description: text("description").to_owned(),
                arguments_schema: schema,
            });
        }
        described.sort_by_key(ToString::to_string);
        let digest = Sha256Digest::of_bytes(Value::from(described).to_string().as_bytes());
        Ok(Self { definitions, digest })
    }

    /// Checks that the list is the one reviewed.
    pub fn check_pinned(&self, server: &McpServer) -> Result<(), McpListMistake> {
        let (name, found) = (server.name.clone(), self.digest);
        match server.digest {
            Some(pinned) if pinned == found => Ok(()),
            Some(pinned) => Err(McpListMistake::Changed { server: name, pinned, found }),
            None => Err(McpListMistake::Unpinned { server: name, found }),
        }
    }
}

/// Returns the description of a tool.
fn find<'a>(server: &McpServer, tool: &str, listed: &'a [Value]) -> Result<&'a Value, McpListMistake> {
    let name = |one: &'a Value| one.get("name").and_then(Value::as_str);
    let mut found = listed.iter().filter(|one| name(one) == Some(tool));
    let first = found.next().ok_or_else(|| McpListMistake::Missing {
        server: server.name.clone(),
        tool: tool.to_owned(),
        known: listed.iter().filter_map(name).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    })?;
    match found.next() {
        Some(_) => Err(McpListMistake::Twice { server: server.name.clone(), tool: tool.to_owned() }),
        None => Ok(first),
    }
}

/// Returns a value with the keys of all objects in order: a server may write them in any.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(key, value)| (key.clone(), in_order(value))).collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(in_order).collect(),
        other => other.clone(),
    }
}

/// A valid call of a tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpRequest {
    pub server: Name,
    /// The tool, by the server's name of it.
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// The mistake in the arguments of a call, in one sentence for the model.
#[derive(Debug, thiserror::Error)]
pub enum McpCallMistake {
    #[error("the arguments of `{tool}` are not JSON: {cause}")]
    NotJson { tool: String, cause: serde_json::Error },
    #[error("the arguments of `{0}` must be a JSON object")]
    NotObject(String),
    /// They are not as the server wants them.
    #[error("the arguments of `{tool}` do not conform to its schema: {mistake}")]
    Misfit { tool: String, mistake: String },
    /// The schema of the server cannot be read.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Parses a call of a model; `None` if it calls no tool of these servers. `definitions` are those the model was
/// shown.
pub fn parse_mcp_call(
    servers: &[McpServer],
    definitions: &[ToolDefinition],
    call: &ToolCall,
) -> Option<Result<McpRequest, McpCallMistake>> {
    let (server, tool) = servers.iter().find_map(|server| {
        let tool = server.tools.iter().find(|tool| server.tool_name(tool) == call.tool)?;
        Some((server, tool))
    })?;
    let definition = definitions.iter().find(|definition| definition.name == call.tool)?;
    Some(arguments(definition, &call.arguments).map(|arguments| McpRequest {
        server: server.name.clone(),
        tool: tool.clone(),
        arguments,
    }))
}

fn arguments(definition: &ToolDefinition, text: &str) -> Result<Map<String, Value>, McpCallMistake> {
    let tool = definition.name.clone();
    // Some models write nothing where there is nothing to say.
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = match exact_json::read(text) {
        Ok(value) => value,
        Err(cause) => return Err(McpCallMistake::NotJson { tool, cause }),
    };
    let schema = ValueSchema::new(definition.arguments_schema.clone())?;
    if let Some(mistake) = schema.first_mistake(&value) {
        return Err(McpCallMistake::Misfit { tool, mistake });
    }
    match value {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(McpCallMistake::NotObject(tool)),
    }
}

/// Returns the text of an answer of a tool for a model, and true if the call failed. What is no text is named.
pub fn read_mcp_answer(result: &Value) -> (String, bool) {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> = blocks.iter().map(block_text).collect();
    let structure = result.get("structuredContent").filter(|_| texts.is_empty());
    let text = match (structure, result.get("resultType").and_then(Value::as_str)) {
        (_, Some(kind)) if kind != "complete" => {
            return (format!("the tool asks for something (`{kind}`) that an agent cannot give"), true);
        }
        (Some(structure), _) => structure.to_string(),
        (None, _) => texts.join("\n"),
    };
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    if text.is_empty() { ("[no output]".to_owned(), is_error) } else { (text, is_error) }
}

fn block_text(block: &Value) -> String {
    let word = |path: &str| block.pointer(path).and_then(Value::as_str);
    match word("/type") {
        Some("text") => word("/text").unwrap_or_default().to_owned(),
        Some("resource") if let Some(text) = word("/resource/text") => text.to_owned(),
        Some(kind) => {
            let name = word("/uri").or(word("/resource/uri")).or(word("/mimeType")).unwrap_or("unnamed");
            format!("[{kind} {name}: not shown]")
        }
        None => "[something of no type: not shown]".to_owned(),
    }
}
