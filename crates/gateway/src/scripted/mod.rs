//! Replies from a file of the workspace, for tests and examples: a model without a provider.
//!
//! **Invariant:** a reply depends on the conversation alone, so a call made again after a crash has the same
//! reply.

mod decode;
mod script;

pub use decode::load_script;
pub use script::{ModelScript, ScriptError, ScriptedConversation, ScriptedError, ScriptedReply};

#[cfg(test)]
mod tests;
