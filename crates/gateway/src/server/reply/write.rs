use wf_core::agent::ModelReply;

use super::{anthropic, openai_chat, openai_responses};
use crate::server::{ClientApi, ClientRequest};

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
