use wf_core::agent::{Message, ModelReply, ModelRequest, TokenUsage};

/// Returns an estimate of the input tokens of a request, to reserve room in a budget before it is sent: its
/// characters divided by 3.5.
pub fn count_estimate(request: &ModelRequest) -> u64 {
    let messages = request.messages.iter().map(message_chars).sum::<usize>();
    let tools = request
        .tools
        .iter()
        .map(|tool| chars(&tool.name) + chars(&tool.description) + chars(&tool.arguments_schema.to_string()));
    let schema = request.answer_schema.as_ref().map_or(0, |schema| chars(&schema.to_string()));
    tokens_of(chars(&request.system) + messages + tools.sum::<usize>() + schema)
}

/// Returns an estimate of what a call took, for a provider that does not count.
pub(crate) fn estimate_usage(request: &ModelRequest, reply: &ModelReply) -> TokenUsage {
    let calls = reply.tool_calls.iter().map(|call| chars(&call.tool) + chars(&call.arguments));
    let output = tokens_of(chars(&reply.text) + calls.sum::<usize>());
    TokenUsage { input: count_estimate(request), cached_input: 0, output }
}

/// Returns the estimated tokens of a text with this many characters.
pub(crate) fn tokens_of(chars: usize) -> u64 {
    u64::try_from(chars).unwrap_or(u64::MAX).saturating_mul(2) / 7
}

fn message_chars(message: &Message) -> usize {
    match message {
        Message::User { text } => chars(text),
        Message::Assistant { text, tool_calls } => {
            let calls = tool_calls.iter().map(|call| chars(&call.tool) + chars(&call.arguments));
            chars(text) + calls.sum::<usize>()
        }
        Message::Tool { results } => results.iter().map(|result| chars(&result.text)).sum(),
    }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_request_counts() {
        let user = |text: &str| Message::User { text: text.into() };
        let mut request = ModelRequest {
            system: "1234567".into(),
            messages: vec![user("éééé")],
            tools: Vec::new(),
            answer_schema: None,
            max_output: 10,
            temperature: None,
        };
        assert_eq!(count_estimate(&request), 3);
        request.messages.push(Message::Tool {
            results: vec![wf_core::agent::ToolResult {
                id: "1".into(),
                text: "x".repeat(35),
                is_error: false,
            }],
        });
        assert_eq!(count_estimate(&request), 13);
        request.answer_schema = Some(serde_json::json!({"type": "object"}));
        assert_eq!(count_estimate(&request), 18);
    }
}
