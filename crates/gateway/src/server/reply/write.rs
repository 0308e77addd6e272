use super::{anthropic, openai_chat, openai_responses};
use crate::server::{ClientApi, ClientRequest};
use serde_json::{Value, json};
use wf_core::agent::ModelReply;

/// The body of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyBody {
    /// A JSON object.
    Json(String),
    /// A whole stream of server-sent events.
    Events(String),
}

/// Writes the reply of a model. The id must be another for each reply: Claude Code joins replies of one id.
pub fn write_reply(request: &ClientRequest, reply: &ModelReply, id: &str) -> ReplyBody {
    if request.stream {
        ReplyBody::Events(match request.api {
            ClientApi::Anthropic => anthropic::events(request, reply, id),
            ClientApi::OpenaiChat => openai_chat::events(request, reply, id),
            ClientApi::OpenaiResponses => openai_responses::events(request, reply, id),
        })
    } else {
        let json = match request.api {
            ClientApi::Anthropic => anthropic::json(request, reply, id),
            ClientApi::OpenaiChat => openai_chat::json(request, reply, id),
            ClientApi::OpenaiResponses => openai_responses::json(request, reply, id),
        };
        ReplyBody::Json(json.to_string())
    }
}

/// The text of a stream of events.
#[derive(Debug, Default)]
pub(super) struct EventText {
    text: String,
    count: u64,
}

impl EventText {
    /// Adds an event without a name.
    pub(super) fn data(&mut self, data: &Value) {
        self.text.push_str(&format!("data: {data}\n\n"));
    }

    /// Adds an event whose name is also the `type` of its data.
    pub(super) fn typed(&mut self, kind: &str, data: Value) {
        let mut body = json!({"type": kind});
        if let (Value::Object(body), Value::Object(fields)) = (&mut body, data) {
            body.extend(fields);
        }
        self.text.push_str(&format!("event: {kind}\ndata: {body}\n\n"));
    }

    /// Adds an event that also has its number.
    pub(super) fn numbered(&mut self, kind: &str, mut data: Value) {
        data["sequence_number"] = json!(self.count);
        self.count += 1;
        self.typed(kind, data);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
