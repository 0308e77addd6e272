use crate::{
    agent::{
        Question, SkillRequest, ToolCall,
        tools::{
            arguments::ToolArguments,
            mistake::{ToolMistake, quoted, tools_text},
            request::{AgentRequest, DispatchRequest, ToolRequest},
        },
    },
    memory::{MemoryQuery, NoteDraft},
};
use wf_base::keyword::Keyword as _;
use wf_model::AgentTool;

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

/// The maximum number of characters of a result.
pub const RESULT_CHARS: usize = 16_000;

/// The room for the marker: it has at most 20 digits.
const MARKER_CHARS: usize = 64;

/// The number of characters kept at each end of a text cut.
const END_CHARS: usize = (RESULT_CHARS - MARKER_CHARS) / 2;

/// Cuts a text out of its middle, so at most [`RESULT_CHARS`] characters are left, with a marker of how many
/// were cut.
pub fn cut_result(text: &str) -> String {
    // A character has at least one byte.
    if text.len() <= RESULT_CHARS {
        return text.to_owned();
    }
    let count = text.chars().count();
    if count <= RESULT_CHARS {
        return text.to_owned();
    }
    let cut = count - 2 * END_CHARS;
    format!("{}\n[… {cut} characters cut …]\n{}", first(text), last(text))
}

/// Joins the beginning and the end of an output of which the middle was not kept; `bytes` is its whole size.
pub fn cut_ends(head: &str, tail: &str, bytes: u64) -> String {
    let (head, tail) = (first(head), last(tail));
    let kept = u64::try_from(head.len() + tail.len()).unwrap_or(u64::MAX);
    format!("{head}\n[… {} bytes cut …]\n{tail}", bytes.saturating_sub(kept))
}

fn first(text: &str) -> &str {
    let end = text.char_indices().nth(END_CHARS).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn last(text: &str) -> &str {
    let begin = text.char_indices().rev().nth(END_CHARS - 1).map_or(0, |(at, _)| at);
    text.get(begin..).unwrap_or(text)
}
