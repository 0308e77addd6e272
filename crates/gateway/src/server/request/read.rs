use super::{anthropic, openai_chat, openai_responses};
use crate::{
    field::{FieldError, JsonField},
    server::{ClientApi, ClientRequest, ClientTool},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wf_core::agent::{Message, ModelRequest, ToolCall, ToolDefinition, ToolResult};
use wf_model::ModelDefinition;

/// The parts of a request each format has in its own way.
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
        ClientApi::Anthropic => anthropic::read_messages(&root)?,
        ClientApi::OpenaiChat => openai_chat::read_chat(&root)?,
        ClientApi::OpenaiResponses => openai_responses::read_responses(&root)?,
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

/// Reads a function the model may call.
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

/// Returns the texts of a content: that of a plain text, or those of its blocks. Thinking is left out.
pub(super) fn texts(content: &RequestField<'_>) -> Result<Vec<String>, RequestError> {
    if let Ok(text) = content.text() {
        return Ok(vec![text.to_owned()]);
    }
    let read = |block: &RequestField<'_>| block_text(block).transpose();
    content.items()?.iter().filter_map(read).collect()
}

/// Returns the text of a block; `None` if it is thinking.
pub(super) fn block_text(block: &RequestField<'_>) -> Result<Option<String>, RequestError> {
    let text = match block.need_text("type")? {
        "text" | "input_text" | "output_text" => block.need_text("text")?,
        "refusal" => block.need_text("refusal")?,
        "thinking" | "redacted_thinking" => return Ok(None),
        "image" | "image_url" | "input_image" => return Err(unlike_text(block, "an image")),
        "input_audio" => return Err(unlike_text(block, "a sound")),
        "document" | "file" | "input_file" => return Err(unlike_text(block, "a document")),
        other => return Err(unlike_text(block, &format!("the type {other:?}"))),
    };
    Ok(Some(text.to_owned()))
}

fn unlike_text(block: &RequestField<'_>, content: &str) -> RequestError {
    block.unsupported(content, "send text")
}

/// A conversation that is being read.
#[derive(Debug, Default)]
pub(super) struct ConversationDraft {
    /// The texts of the system prompt.
    pub(super) system: Vec<String>,
    messages: Vec<Message>,
}

impl ConversationDraft {
    /// Adds texts of the user, each as a message.
    pub(super) fn ask(&mut self, texts: Vec<String>) {
        self.messages.extend(texts.into_iter().map(|text| Message::User { text }));
    }

    /// Adds a text of the model. A reply that has made calls takes it, since results must follow calls. An empty text
    /// is left out: providers refuse it.
    pub(super) fn say(&mut self, more: &str) {
        match self.messages.last_mut() {
            _ if more.is_empty() => {}
            Some(Message::Assistant { text, tool_calls }) if !tool_calls.is_empty() => text.push_str(more),
            _ => self.messages.push(Message::Assistant { text: more.to_owned(), tool_calls: Vec::new() }),
        }
    }

    /// Adds a call to the model's reply.
    pub(super) fn call(&mut self, call: ToolCall) {
        match self.messages.last_mut() {
            Some(Message::Assistant { tool_calls, .. }) => tool_calls.push(call),
            _ => self.messages.push(Message::Assistant { text: String::new(), tool_calls: vec![call] }),
        }
    }

    /// Adds the result of a call.
    pub(super) fn answer(&mut self, result: ToolResult) {
        match self.messages.last_mut() {
            Some(Message::Tool { results }) => results.push(result),
            _ => self.messages.push(Message::Tool { results: vec![result] }),
        }
    }

    pub(super) fn finish(self) -> Vec<Message> {
        self.messages
    }
}

/// The reason why a request of a client cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It is not JSON.
    #[error("the request is not JSON: {0}")]
    Json(String),
    /// A field is missing.
    #[error("the request lacks `{field}`")]
    Missing {
        /// The path of the field.
        field: String,
    },
    /// A field is of another kind.
    #[error("`{field}` of the request is not {expected}")]
    Kind {
        /// The path of the field.
        field: String,
        expected: &'static str,
    },
    /// A field has what no request to a model can carry here.
    #[error("`{field}` of the request has {content}, which this gateway cannot pass on: {advice}")]
    Unsupported {
        /// The path of the field.
        field: String,
        content: String,
        /// The other way.
        advice: &'static str,
    },
}

pub(super) type RequestField<'a> = JsonField<'a, RequestError>;

impl FieldError for RequestError {
    fn missing(field: String) -> Self {
        Self::Missing { field }
    }

    fn unlike(field: String, expected: &'static str) -> Self {
        Self::Kind { field, expected }
    }
}

impl RequestField<'_> {
    /// Returns a field that is true or false; false if it is missing.
    pub(super) fn flag_or_false(&self, key: &str) -> Result<bool, RequestError> {
        self.get(key).map_or(Ok(false), |field| field.flag())
    }

    /// Returns the error for content that cannot be passed on.
    pub(super) fn unsupported(&self, content: impl Into<String>, advice: &'static str) -> RequestError {
        RequestError::Unsupported { field: self.path().to_owned(), content: content.into(), advice }
    }
}
