//! The review of the tools of an MCP server: `wf mcp pin`.
//!
//! A server is started in a sandbox, as an attempt starts it, and lists its tools. A person reads the descriptions, since a
//! model will, and their digest is written into `wf.yaml`. What was reviewed is kept in the state folder, so that the next
//! review shows what has changed.
//!
//! **Invariant:** `wf.yaml` is changed in nothing but that digest; where that is not certain, it is not changed.

mod edit;
mod listing;
mod reviewed;
mod server;

pub use listing::{PinState, ToolListing};
pub use server::ServerReview;
