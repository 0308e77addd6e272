use wf_core::agent::{ModelReply, StopReason, ToolCall};
use wf_model::TokenUsage;

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
