//! `wf mcp`: the workspace in the Model Context Protocol.
//!
//! [`args`] chooses between its commands.

mod args;
mod serve;

pub use args::{McpArgs, run};
