//! The tools of servers that speak the Model Context Protocol (MCP): what a server lists, and what it answers.
//!
//! A server is a program of others, and its descriptions are instructions to the model. So they reach one only as
//! somebody has reviewed them: their digest is pinned in `wf.yaml`. Nothing here talks to a server; `wf_exec::mcp`
//! does.
//!
//! **Invariant:** a tool the workspace does not allow, or whose description or schema has changed since it was
//! pinned, is neither shown to a model nor called.

mod answer;
mod call;
mod list;
#[cfg(test)]
mod tests;

pub use answer::read_mcp_answer;
pub use call::{McpRequest, parse_mcp_call};
pub use list::{McpListMistake, McpToolList};
