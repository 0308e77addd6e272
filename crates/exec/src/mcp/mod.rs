//! A client of servers speaking the Model Context Protocol (MCP) over standard input and output.
//!
//! The server is a process in the sandbox of a step, one for an attempt. It gets the environment of the step's
//! scripts, and no more rights than they have.
//!
//! **Invariant:** a request ends in spite of anything a server writes: with its reply, at its timeout, at a limit of
//! size, or with the process.

mod failure;
mod link;
mod message;

pub use failure::McpFailure;
pub use link::{McpLimits, McpLink};
