//! The work of a model with tools, as a pure loop (DESIGN section 13).
//!
//! A [`ModelRequest`] and a [`ModelReply`] are in the format of no provider; `wf-gateway` translates them.

pub mod authoring;
mod briefing;
pub mod client;
mod context;
mod conversation;
mod dispatch;
mod guidance;
mod known;
mod mcp;
mod mode;
mod mood;
mod persona;
mod planning;
mod prior_conversation;
mod question;
mod skills;
mod tools;
mod untrusted;
mod word;

pub use briefing::{AnswerMistake, BriefingParts, estimate_tokens, read_answer, tokens_of_chars};
pub(crate) use briefing::{repair_text, unfence};
pub use context::{
    ANSWER_TOKENS, ContextCut, ContextLimits, GroupChoice, GroupChoiceMistake, QUESTION_TOKENS, TurnRange,
    compactor_question,
};
pub(crate) use context::{ConversationSize, TokenScale, TurnSize};
pub use conversation::{Message, ModelReply, ModelRequest, StopReason, ToolCall, ToolDefinition, ToolResult};
pub use dispatch::{
    ChildChoice, ChildReport, ChildRequest, ChildRequestMistake, ChildStart, ChildrenReport,
    dispatch_definition, read_collect, read_dispatch,
};
pub use guidance::{GuidanceMistake, GuidanceTextMistake, guidance_question, read_guidance};
pub(crate) use guidance::{first_forbidden, plain_guidance, truncate_briefing};
pub use known::{KnownBeginning, KnownConversations};
pub use mcp::{McpCallMistake, McpListMistake, McpRequest, McpToolList, parse_mcp_call, read_mcp_answer};
pub use mode::{ModeRule, ModeSignals, ResolvedMode};
pub use mood::{PersonaOccurrence, mood};
pub use planning::{planner_answer, planner_question};
pub use prior_conversation::{
    CONVERSATION_TURNS, ConversationSummary, ConversationTurn, PriorConversation, occurrences,
};
pub use question::{Question, answer_text};
pub(crate) use skills::skills_text;
pub use skills::{SkillRequest, SkillRequestMistake, SkillScriptCall, find_script, skill_definition};
pub use tools::{
    AgentRequest, DispatchRequest, RESULT_CHARS, ToolMistake, ToolRequest, cut_ends, cut_result, parse_call,
    tool_definition,
};
pub use untrusted::{context_block, source_of_result, source_of_tool, untrusted_block};
