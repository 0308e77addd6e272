use wf_core::agent::{ModelReply, ModelRequest};
use wf_model::TokenUsage;

/// Returns an estimate of the usage of a call, for a provider without counts.
pub(crate) fn estimate_usage(request: &ModelRequest, reply: &ModelReply) -> TokenUsage {
    TokenUsage {
        input: request.estimated_tokens(),
        cached_input: 0,
        cache_write: 0,
        output: reply.estimated_tokens(),
    }
}
