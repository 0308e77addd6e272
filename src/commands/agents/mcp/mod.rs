//! `wf mcp`: the workspace, and servers with tools for its agents, in the Model Context Protocol.
//!
//! [`args`] chooses between its commands.

mod args;
mod pin;
mod serve;

pub use args::{McpArgs, run};
