//! The tools of an agent: their definitions for a model, and its calls as typed requests.
//!
//! A call is text of a model, so nothing in it is trusted: it becomes a [`ToolRequest`], or a [`ToolMistake`]
//! that tells the model in one sentence what to do otherwise. `wf_exec::agent_tool` carries requests out.
//!
//! **Invariant:** the JSON Schema a model sees and the rules its calls meet come from one table.

mod arguments;
mod call;
mod mistake;
mod parameter;
mod request;
#[cfg(test)]
mod tests;

pub use call::{RESULT_CHARS, cut_ends, cut_result, parse_call};
pub use mistake::ToolMistake;
pub use parameter::tool_definition;
pub use request::{AgentRequest, DispatchRequest, ToolRequest};
