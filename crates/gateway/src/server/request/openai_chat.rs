use wf_core::agent::ToolResult;

use super::{
    RequestError,
    read::{ConversationDraft, RequestDraft, RequestField, read_function, read_schema, texts},
};
use crate::wire::openai_chat::read_call;

/// Reads a request of OpenAI Chat Completions.
pub(super) fn read_chat(root: &RequestField<'_>) -> Result<RequestDraft, RequestError> {
    let mut draft = RequestDraft::default();
    for message in root.need("messages")?.items()? {
        read_message(&message, &mut draft.conversation)?;
    }
    for tool in root.items_or_none("tools")? {
        // A tool of another type is hosted by the provider.
        if tool.need_text("type")? == "function" {
            draft.tools.push(read_function(&tool.need("function")?, "parameters")?);
        }
    }
    if let Some(format) = root.get("response_format") {
        let named = format.get("json_schema").unwrap_or_else(|| format.clone());
        draft.answer_schema = read_schema(&format, &named)?;
    }
    if root.count_or_none("n")?.is_some_and(|count| count != 1) {
        return Err(root.unsupported("several choices (`n`)", "ask for one"));
    }
    draft.max_output = root.count_or_none("max_completion_tokens")?.or(root.count_or_none("max_tokens")?);
    if let Some(options) = root.get("stream_options") {
        draft.includes_usage = options.flag_or_false("include_usage")?;
    }
    Ok(draft)
}

fn read_message(message: &RequestField<'_>, draft: &mut ConversationDraft) -> Result<(), RequestError> {
    let content_texts = |message: &RequestField<'_>| texts(&message.need("content")?);
    match message.need_text("role")? {
        "system" | "developer" => draft.system.extend(content_texts(message)?),
        "user" => draft.ask(content_texts(message)?),
        "assistant" => {
            draft.say(&message.get("content").map_or(Ok(Vec::new()), |content| texts(&content))?.concat());
            for call in message.items_or_none("tool_calls")? {
                draft.call(read_call(&call)?);
            }
        }
        "tool" => draft.answer(ToolResult {
            id: message.need_text("tool_call_id")?.to_owned(),
            text: content_texts(message)?.join("\n"),
            is_error: false,
        }),
        other => {
            let advice = "use system, developer, user, assistant or tool";
            return Err(message.unsupported(format!("the role {other:?}"), advice));
        }
    }
    Ok(())
}
