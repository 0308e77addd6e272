use serde_json::json;
use wf_core::agent::{ToolCall, ToolDefinition, ToolResult};

use super::{
    RequestError,
    read::{ConversationDraft, RequestDraft, RequestField, read_function, read_schema, texts},
};
use crate::server::ClientTool;

/// The fields referring to data kept by a provider.
const KEPT: [&str; 2] = ["previous_response_id", "conversation"];

/// Reads a request of OpenAI Responses.
pub(super) fn read_responses(root: &RequestField<'_>) -> Result<RequestDraft, RequestError> {
    for key in KEPT {
        if let Some(field) = root.get(key) {
            return Err(field.unsupported("a kept conversation", "send the whole conversation as `input`"));
        }
    }
    let mut draft =
        RequestDraft { max_output: root.count_or_none("max_output_tokens")?, ..RequestDraft::default() };
    if let Some(instructions) = root.get("instructions") {
        draft.conversation.system.push(instructions.text()?.to_owned());
    }
    let input = root.need("input")?;
    if input.text().is_ok() {
        draft.conversation.ask(texts(&input)?);
    } else {
        for item in input.items()? {
            read_item(&item, &mut draft.conversation)?;
        }
    }
    for tool in root.items_or_none("tools")? {
        read_tool(&tool, &mut draft)?;
    }
    if let Some(format) = root.get("text").and_then(|text| text.get("format")) {
        draft.answer_schema = read_schema(&format, &format)?;
    }
    Ok(draft)
}

fn read_item(item: &RequestField<'_>, draft: &mut ConversationDraft) -> Result<(), RequestError> {
    match item.get("type").map_or(Ok("message"), |kind| kind.text())? {
        "message" => read_message(item, draft)?,
        "function_call" => {
            let name = item.need_text("name")?;
            let namespace = item.text_or_empty("namespace")?;
            let tool = if namespace.is_empty() { name.to_owned() } else { joined_name(namespace, name) };
            draft.call(tool_call(item, &tool, item.need_text("arguments")?)?);
        }
        "custom_tool_call" => {
            let arguments = json!({"input": item.need_text("input")?}).to_string();
            draft.call(tool_call(item, item.need_text("name")?, &arguments)?);
        }
        "local_shell_call" => {
            let arguments = item.need("action")?.json().to_string();
            draft.call(tool_call(item, "local_shell", &arguments)?);
        }
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            draft.answer(ToolResult {
                id: item.need_text("call_id")?.to_owned(),
                text: texts(&item.need("output")?)?.join("\n"),
                is_error: false,
            });
        }
        "reasoning" => {}
        other => {
            let advice = "send messages, function calls and their outputs";
            return Err(item.unsupported(format!("the type {other:?}"), advice));
        }
    }
    Ok(())
}

fn read_message(item: &RequestField<'_>, draft: &mut ConversationDraft) -> Result<(), RequestError> {
    let content_texts = texts(&item.need("content")?)?;
    match item.need_text("role")? {
        "system" | "developer" => draft.system.extend(content_texts),
        "user" => draft.ask(content_texts),
        "assistant" => draft.say(&content_texts.concat()),
        other => {
            let advice = "use system, developer, user or assistant";
            return Err(item.unsupported(format!("the role {other:?}"), advice));
        }
    }
    Ok(())
}

fn tool_call(item: &RequestField<'_>, tool: &str, arguments: &str) -> Result<ToolCall, RequestError> {
    let id = item.need_text("call_id")?.to_owned();
    Ok(ToolCall { id, tool: tool.to_owned(), arguments: arguments.to_owned() })
}

fn read_tool(tool: &RequestField<'_>, draft: &mut RequestDraft) -> Result<(), RequestError> {
    match tool.need_text("type")? {
        "function" => draft.tools.push(read_function(tool, "parameters")?),
        "custom" => {
            let function = read_custom(tool)?;
            draft.renamed_tools.insert(function.name.clone(), ClientTool::Custom);
            draft.tools.push(function);
        }
        "namespace" => {
            let namespace = tool.need_text("name")?.to_owned();
            for inner in tool.items_or_none("tools")? {
                if inner.need_text("type")? == "function" {
                    let mut function = read_function(&inner, "parameters")?;
                    let name = joined_name(&namespace, &function.name);
                    let name = std::mem::replace(&mut function.name, name);
                    let own = ClientTool::Namespaced { namespace: namespace.clone(), name };
                    draft.renamed_tools.insert(function.name.clone(), own);
                    draft.tools.push(function);
                }
            }
        }
        // A tool of another type is hosted by the provider.
        _ => {}
    }
    Ok(())
}

/// Reads a tool whose argument is a text. A grammar of the text becomes a part of the description.
fn read_custom(tool: &RequestField<'_>) -> Result<ToolDefinition, RequestError> {
    let mut description = tool.text_or_empty("description")?.to_owned();
    if let Some(format) = tool.get("format")
        && let Some(definition) = format.get("definition")
    {
        let syntax = format.text_or_empty("syntax")?;
        let definition = definition.text()?;
        description.push_str(&format!("\n\nThe input must follow this grammar ({syntax}):\n{definition}"));
    }
    Ok(ToolDefinition {
        name: tool.need_text("name")?.to_owned(),
        description,
        arguments_schema: json!({
            "type": "object",
            "properties": {"input": {"type": "string"}},
            "required": ["input"],
            "additionalProperties": false,
        }),
    })
}

/// Returns the name of a function of a namespace, in the characters all providers allow.
fn joined_name(namespace: &str, name: &str) -> String {
    format!("{namespace}__{name}")
}
