use serde_json::{Map, Value};
use wf_base::exact_json;
use wf_base::name::Name;
use wf_model::{McpServer, ValueSchema};

use crate::agent::{ToolCall, ToolDefinition};

/// A valid call of a tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpRequest {
    pub server: Name,
    /// The tool, by the server's name of it.
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// Parses a call of a model; `None` if it calls no tool of these servers. `definitions` are those the model was
/// shown. A mistake is one sentence for the model.
pub fn parse_mcp_call(
    servers: &[McpServer],
    definitions: &[ToolDefinition],
    call: &ToolCall,
) -> Option<Result<McpRequest, String>> {
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

fn arguments(definition: &ToolDefinition, text: &str) -> Result<Map<String, Value>, String> {
    let tool = &definition.name;
    // Some models write nothing where there is nothing to say.
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value =
        exact_json::read(text).map_err(|error| format!("the arguments of `{tool}` are not JSON: {error}"))?;
    let schema = ValueSchema::new(definition.arguments_schema.clone()).map_err(|error| error.to_string())?;
    if let Some(mistake) = schema.first_mistake(&value) {
        return Err(format!("the arguments of `{tool}` do not conform to its schema: {mistake}"));
    }
    match value {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(format!("the arguments of `{tool}` must be a JSON object")),
    }
}
