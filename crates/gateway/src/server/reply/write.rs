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
pub fn write_reply(asked: &ClientRequest, reply: &ModelReply, id: &str) -> ReplyBody {
    if asked.stream {
        ReplyBody::Events(match asked.api {
            ClientApi::Anthropic => anthropic::events(asked, reply, id),
            ClientApi::OpenaiChat => openai_chat::events(asked, reply, id),
            ClientApi::OpenaiResponses => openai_responses::events(asked, reply, id),
        })
    } else {
        let json = match asked.api {
            ClientApi::Anthropic => anthropic::json(asked, reply, id),
            ClientApi::OpenaiChat => openai_chat::json(asked, reply, id),
            ClientApi::OpenaiResponses => openai_responses::json(asked, reply, id),
        };
        ReplyBody::Json(json.to_string())
    }
}
