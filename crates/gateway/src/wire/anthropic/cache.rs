use serde_json::{Value, json};

/// The user messages at the end that are marked: the newest, which the next call begins with, and the one before,
/// which the last call has marked. One mark would not do: a provider looks for a cached beginning only a few blocks
/// before it, and a turn may have more.
const LAST: usize = 2;

/// Marks where the beginning of a request may be cached: after the tools and the instructions, after the briefing,
/// which a cut of the conversation leaves as it is, and at the end. These are four, the most that the format allows.
pub(super) fn mark_breakpoints(body: &mut Value) {
    if let Some(system) = body.get("system").and_then(Value::as_str) {
        body["system"] = json!([{"type": "text", "text": system}]);
        mark_last(&mut body["system"]);
    } else {
        mark_last(&mut body["tools"]);
    }
    let messages = body["messages"].as_array_mut().into_iter().flatten();
    let mut user: Vec<_> = messages.filter(|message| message["role"] == "user").collect();
    let last = user.len().saturating_sub(LAST);
    for (at, message) in user.iter_mut().enumerate() {
        if at == 0 || at >= last {
            mark_last(&mut message["content"]);
        }
    }
}

fn mark_last(blocks: &mut Value) {
    if let Some(last) = blocks.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
}
