//! The calls of agents, judges, gates and planners: the fold of their facts, and the exchange as a person reads it.
//!
//! **Invariant:** bodies are read by who shows them; here are their digests alone.

mod agent_calls;
mod asked_calls;
mod call;
mod chain;
mod exchange;
mod planning;
mod request;
mod tool_arguments;

pub use agent_calls::{AgentCalls, CallApproval, CallGate, ModelCallRecord, ToolCallRecord};
pub use asked_calls::{AskedCall, ShownAskedCall};
pub use call::{ShownModelCall, ShownToolCall};
pub use chain::{CallChain, CallSources};
pub use exchange::{BodyReader, CallBodyError, exchange_text};
pub use planning::{planning_list, planning_text};
pub use tool_arguments::{DiffLine, DiffMark, ToolCallText};
