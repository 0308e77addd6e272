use std::collections::BTreeMap;

use serde_json::{Value, json};
use wf_core::agent::{ModelRequest, ToolDefinition};
use wf_model::ModelDefinition;

use super::draft::ConversationDraft;
use super::field::RequestField;
use super::{RequestError, anthropic, openai_chat, openai_responses};
use crate::server::{ClientApi, ClientRequest, ClientTool};

/// The parts of a request that each format has in its own way.
#[derive(Debug, Default)]
pub(super) struct RequestDraft {
    pub(super) conversation: ConversationDraft,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) renamed_tools: BTreeMap<String, ClientTool>,
    pub(super) answer_schema: Option<Value>,
    pub(super) max_output: Option<u64>,
    pub(super) includes_usage: bool,
}

pub fn read_request(api: ClientApi, body: &str) -> Result<ClientRequest, RequestError> {
    let json: Value = serde_json::from_str(body).map_err(|error| RequestError::Json(error.to_string()))?;
    let root = RequestField::root(&json);
    let model = root.need_text("model")?.to_owned();
    let draft = match api {
        ClientApi::Anthropic => anthropic::read(&root)?,
        ClientApi::OpenaiChat => openai_chat::read(&root)?,
        ClientApi::OpenaiResponses => openai_responses::read(&root)?,
    };
    let system = draft.conversation.system.join("\n\n");
    let request = ModelRequest {
        system,
        messages: draft.conversation.finish(),
        tools: if forbids_tools(&root) { Vec::new() } else { draft.tools },
        answer_schema: draft.answer_schema,
        max_output: draft.max_output.unwrap_or(ModelDefinition::MAX_OUTPUT),
        temperature: root.get("temperature").map(|field| field.number()).transpose()?,
    };
    Ok(ClientRequest {
        api,
        model,
        stream: root.flag_or_false("stream")?,
        includes_usage: draft.includes_usage,
        max_output: draft.max_output,
        renamed_tools: draft.renamed_tools,
        request,
    })
}

/// True if the model must not call a tool. Other choices are wishes that not every provider grants.
fn forbids_tools(root: &RequestField<'_>) -> bool {
    let choice = root.get("tool_choice").map(|choice| choice.json().get("type").unwrap_or(choice.json()));
    choice.is_some_and(|choice| choice == "none")
}

/// Reads a function that the model may call.
pub(super) fn read_function(tool: &RequestField<'_>, schema: &str) -> Result<ToolDefinition, RequestError> {
    let arguments = tool.get(schema).map(|schema| schema.json().clone());
    Ok(ToolDefinition {
        name: tool.need_text("name")?.to_owned(),
        description: tool.text_or_empty("description")?.to_owned(),
        arguments_schema: arguments.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
    })
}

/// Returns the schema of the answer from the description of its format.
pub(super) fn read_schema(
    format: &RequestField<'_>,
    named: &RequestField<'_>,
) -> Result<Option<Value>, RequestError> {
    Ok(match format.need_text("type")? {
        "json_schema" => Some(named.need("schema")?.json().clone()),
        "json_object" => Some(json!({"type": "object"})),
        _ => None,
    })
}
