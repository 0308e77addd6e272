use wf_core::agent::ToolResult;

use super::{
    RequestError,
    read::{ConversationDraft, RequestDraft, RequestField, block_text, read_function, read_schema, texts},
};
use crate::wire::anthropic::read_call;

/// Reads a request of Anthropic Messages.
pub(super) fn read_messages(root: &RequestField<'_>) -> Result<RequestDraft, RequestError> {
    let mut draft = RequestDraft { max_output: root.count_or_none("max_tokens")?, ..RequestDraft::default() };
    if let Some(system) = root.get("system") {
        draft.conversation.system = texts(&system)?;
    }
    for message in root.need("messages")?.items()? {
        let content = message.need("content")?;
        match message.need_text("role")? {
            "user" => read_user(&content, &mut draft.conversation)?,
            "assistant" => read_assistant(&content, &mut draft.conversation)?,
            "system" => draft.conversation.system.extend(texts(&content)?),
            other => return Err(message.unsupported(format!("the role {other:?}"), "use user or assistant")),
        }
    }
    for tool in root.items_or_none("tools")? {
        // A tool of another type is hosted by the provider.
        if matches!(tool.text_or_empty("type")?, "" | "custom") {
            draft.tools.push(read_function(&tool, "input_schema")?);
        }
    }
    if let Some(format) = root.get("output_config").and_then(|config| config.get("format")) {
        draft.answer_schema = read_schema(&format, &format)?;
    }
    Ok(draft)
}

/// Reads a message of the user: first the results, which must follow their calls, then its texts.
fn read_user(content: &RequestField<'_>, draft: &mut ConversationDraft) -> Result<(), RequestError> {
    if content.text().is_ok() {
        draft.ask(texts(content)?);
        return Ok(());
    }
    let mut content_texts = Vec::new();
    for block in content.items()? {
        if block.need_text("type")? == "tool_result" {
            draft.answer(ToolResult {
                id: block.need_text("tool_use_id")?.to_owned(),
                text: block.get("content").map_or(Ok(Vec::new()), |inner| texts(&inner))?.join("\n"),
                is_error: block.flag_or_false("is_error")?,
            });
        } else {
            content_texts.extend(block_text(&block)?);
        }
    }
    draft.ask(content_texts);
    Ok(())
}

fn read_assistant(content: &RequestField<'_>, draft: &mut ConversationDraft) -> Result<(), RequestError> {
    if content.text().is_ok() {
        draft.say(&texts(content)?.concat());
        return Ok(());
    }
    let (mut reply_text, mut calls) = (String::new(), Vec::new());
    for block in content.items()? {
        if block.need_text("type")? == "tool_use" {
            calls.push(read_call(&block)?);
        } else if let Some(text) = block_text(&block)? {
            reply_text.push_str(&text);
        }
    }
    draft.say(&reply_text);
    for call in calls {
        draft.call(call);
    }
    Ok(())
}
