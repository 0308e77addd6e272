//! The calls of agents: the fold of their facts, and the exchange as a person reads it.
//!
//! **Invariant:** bodies are read by who shows them; here are their digests alone.

mod agent_calls;
mod exchange;

pub use agent_calls::{AgentCalls, ModelCallRecord, ToolCallRecord, sequential_calls};
pub use exchange::{BodyReader, exchange_text};
