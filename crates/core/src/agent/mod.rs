//! The work of a model with tools, as a pure loop (DESIGN section 13).
//!
//! A [`ModelRequest`] and a [`ModelReply`] are in the format of no provider; `wf-gateway` translates them.

mod conversation;

pub use conversation::{
    Message, ModelReply, ModelRequest, StopReason, TokenUsage, ToolCall, ToolDefinition, ToolResult,
};
