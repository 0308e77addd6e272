use super::{
    WireError, anthropic, anthropic::AnthropicStream, openai_chat, openai_chat::ChatStream, openai_responses,
    openai_responses::ResponsesStream,
};
use crate::{
    field::{FieldError, JsonField},
    sse::SseEvent,
};
use serde_json::Value;
use wf_core::agent::{ModelReply, ModelRequest, StopReason, ToolCall, tokens_of_chars};
use wf_model::{ModelApi, TokenUsage};

/// A request, and what a wire format must know besides.
#[derive(Clone, Copy, Debug)]
pub struct WireRequest<'a> {
    pub request: &'a ModelRequest,
    /// The provider's name of the model.
    pub model: &'a str,
    /// The maximum tokens of the reply.
    pub max_output: u64,
    /// True if the reply is to be a stream.
    pub stream: bool,
    /// True for the inventor of the format, whose newer fields compatible servers may not know.
    pub is_inventor: bool,
}

/// Returns the body of a request; `None` if the format is none of HTTP.
pub fn encode_request(api: ModelApi, wire: &WireRequest<'_>) -> Option<Value> {
    match api {
        ModelApi::Anthropic => Some(anthropic::encode(wire)),
        ModelApi::Openai => Some(openai_chat::encode(wire)),
        ModelApi::OpenaiResponses => Some(openai_responses::encode(wire)),
        ModelApi::Scripted => None,
    }
}

/// Reads a reply that is no stream.
pub fn decode_reply(api: ModelApi, body: &str) -> Result<ModelReply, WireError> {
    let json = parse_json(body)?;
    match api {
        ModelApi::Anthropic => anthropic::decode(&json),
        ModelApi::Openai | ModelApi::Scripted => openai_chat::decode(&json),
        ModelApi::OpenaiResponses => openai_responses::decode(&json),
    }
}

/// A reply that arrives as events.
pub trait ReplyStream: Send {
    /// Takes the next event.
    fn take(&mut self, event: &SseEvent) -> Result<(), WireError>;

    /// True if no further event matters.
    fn is_done(&self) -> bool;

    /// Returns the tokens the provider has counted so far.
    fn counted(&self) -> TokenUsage;

    /// Returns the length of all that was generated so far, in bytes.
    fn generated(&self) -> usize;

    /// Returns the reply; an error if it is not complete.
    fn finish(self: Box<Self>) -> Result<ModelReply, WireError>;
}

/// Begins a reply.
pub fn open_stream(api: ModelApi) -> Box<dyn ReplyStream> {
    match api {
        ModelApi::Anthropic => Box::new(AnthropicStream::default()),
        ModelApi::Openai | ModelApi::Scripted => Box::new(ChatStream::default()),
        ModelApi::OpenaiResponses => Box::new(ResponsesStream::default()),
    }
}

/// Returns the usage billed by a provider for a reply broken off: its count, else an estimate; none if nothing
/// has arrived.
pub fn usage_so_far(stream: &dyn ReplyStream, request: &ModelRequest) -> TokenUsage {
    let (counted, bytes) = (stream.counted(), stream.generated());
    if counted == TokenUsage::default() && bytes == 0 {
        return counted;
    }
    let input = if counted.input == 0 { request.estimated_tokens() } else { counted.input };
    TokenUsage { input, output: counted.output.max(tokens_of_chars(bytes)), ..counted }
}

/// A reply that is not complete yet.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyDraft {
    pub(super) text: String,
    pub(super) tool_calls: Vec<ToolCall>,
    pub(super) usage: TokenUsage,
}

impl ReplyDraft {
    /// Ends the reply. `stop` is the provider's reason; `None` if it has none of its own. Some providers say that a
    /// model is done when it calls tools, so the calls count.
    pub(super) fn finish(self, stop: Option<StopReason>) -> ModelReply {
        let done = if self.tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
        let stop = stop.filter(|stop| matches!(stop, StopReason::MaxTokens | StopReason::Refusal));
        ModelReply {
            text: self.text,
            tool_calls: self.tool_calls,
            stop: stop.unwrap_or(done),
            usage: self.usage,
        }
    }
}

pub(super) type ReplyField<'a> = JsonField<'a, WireError>;

impl FieldError for WireError {
    fn missing(field: String) -> Self {
        Self::Missing { field }
    }

    fn unlike(field: String, expected: &'static str) -> Self {
        Self::Kind { field, expected }
    }
}

pub(super) fn parse_json(text: &str) -> Result<Value, WireError> {
    serde_json::from_str(text).map_err(|error| WireError::Json(error.to_string()))
}
