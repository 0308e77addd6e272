//! `wf mcp`: the workspace, and servers whose tools its agents call, in the Model Context Protocol.
//!
//! [`args`] chooses between its commands.

mod args;
mod pin;
mod serve;

pub use args::{McpArgs, run};
