use wf_base::keyword::Keyword as _;
use wf_model::AgentTool;

use super::arguments::ToolArguments;
use super::mistake::{ToolMistake, quoted, tools_text};
use super::request::ToolRequest;
use crate::agent::ToolCall;

/// Parses a call of a model whose step lists these tools.
pub fn parse_call(tools: &[AgentTool], call: &ToolCall) -> Result<ToolRequest, ToolMistake> {
    let tool = AgentTool::from_word(&call.tool)
        .ok_or_else(|| ToolMistake::UnknownTool { called: quoted(&call.tool), tools: tools_text(tools) })?;
    if !tools.contains(&tool) {
        return Err(ToolMistake::UnlistedTool { tool, tools: tools_text(tools) });
    }
    let mut given = ToolArguments::parse(tool, &call.arguments)?;
    Ok(match tool {
        AgentTool::Read => ToolRequest::Read {
            path: given.text("path")?,
            offset: given.optional_count("offset"),
            limit: given.optional_count("limit"),
        },
        AgentTool::List => ToolRequest::List { path: given.optional_text("path") },
        AgentTool::Search => ToolRequest::Search {
            pattern: given.text("pattern")?,
            path: given.optional_text("path"),
            glob: given.optional_text("glob"),
        },
        AgentTool::Write => ToolRequest::Write { path: given.text("path")?, text: given.text("text")? },
        AgentTool::Edit => {
            ToolRequest::Edit { path: given.text("path")?, old: given.text("old")?, new: given.text("new")? }
        }
        AgentTool::Run => ToolRequest::Run {
            script: given.text("script")?,
            timeout_seconds: given.optional_count("timeout_seconds"),
        },
        AgentTool::Dispatch => ToolRequest::Dispatch {
            id: given.text("id")?,
            plan: given.text("plan")?,
            params: given.optional_object("params").unwrap_or_default(),
            depends_on: given.optional_texts("depends_on").unwrap_or_default(),
        },
        AgentTool::Collect => ToolRequest::Collect { id: given.text("id")? },
    })
}
