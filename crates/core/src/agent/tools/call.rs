use wf_base::keyword::Keyword as _;
use wf_model::AgentTool;

use super::arguments::ToolArguments;
use super::mistake::{ToolMistake, quoted, tools_text};
use super::request::{AgentRequest, DispatchRequest, ToolRequest};
use crate::agent::{Question, SkillRequest, ToolCall};
use crate::memory::{MemoryQuery, NoteDraft};

/// Parses a call of a model whose step lists these tools.
pub fn parse_call(tools: &[AgentTool], call: &ToolCall) -> Result<AgentRequest, ToolMistake> {
    let tool = AgentTool::from_word(&call.tool)
        .ok_or_else(|| ToolMistake::UnknownTool { called: quoted(&call.tool), tools: tools_text(tools) })?;
    if !tools.contains(&tool) {
        return Err(ToolMistake::UnlistedTool { tool, tools: tools_text(tools) });
    }
    let mut given = ToolArguments::parse(tool, &call.arguments)?;
    let request = match tool {
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
        AgentTool::Dispatch => {
            return Ok(AgentRequest::Dispatch(DispatchRequest {
                id: given.text("id")?,
                plan: given.text("plan")?,
                params: given.optional_object("params").unwrap_or_default(),
                depends_on: given.texts("depends_on"),
            }));
        }
        AgentTool::Collect => return Ok(AgentRequest::Collect(given.text("id")?)),
        AgentTool::Skill => {
            return Ok(AgentRequest::Skill(SkillRequest {
                skill: given.text("skill")?,
                script: given.text("script")?,
                arguments: given.optional_object("arguments").unwrap_or_default(),
            }));
        }
        AgentTool::Memory => {
            let (text, limit) = (given.text("query")?, given.optional_count("limit"));
            return Ok(AgentRequest::Memory(MemoryQuery { text, limit }));
        }
        AgentTool::Remember => {
            let (text, kind, tags) = (given.text("text")?, given.optional_text("kind"), given.texts("tags"));
            let kind = kind.unwrap_or_default();
            return Ok(AgentRequest::Remember(NoteDraft { kind, text, tags, ..NoteDraft::default() }));
        }
        AgentTool::Fetch => return Ok(AgentRequest::Fetch(given.text("url")?)),
        AgentTool::Ask => {
            let (question, choices) = (given.text("question")?, given.texts("choices"));
            return Ok(AgentRequest::Ask(Question { question, choices }));
        }
    };
    Ok(AgentRequest::Sandbox(request))
}
