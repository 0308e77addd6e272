//! The work of agents: the machine decides which call is next, and this carries it out.
//!
//! ```text
//! brief ──▶ call: the model replies ──▶ tool: what it asked for, by parse ──▶ call … ──▶ end: collected as any attempt
//!           └ client: a program that works as the agent calls the model through a socket instead
//! ```
//!
//! A [session](session::AgentSession) holds the conversation of one attempt. After a crash it is built anew from the
//! recorded facts and the stored bodies; its MCP servers are started anew.
//! **Invariant:** a body is stored before the fact naming it is recorded.
//!
//! Start at `session`, then `brief`, `call` and `tool`. `exchange` and `supplement` are the texts gates see and add,
//! `conversation` the part outliving an attempt.

mod brief;
mod call;
mod call_outcome;
mod carried_conversations;
mod client;
mod compaction;
mod conversation;
mod engine_tools;
mod exchange;
mod journal;
mod mcp;
mod mode;
mod parse;
mod session;
mod skill;
mod supplement;
mod tool;

pub(crate) use brief::brief;
pub(crate) use call::call_model;
pub(crate) use carried_conversations::{bring_back, continues_conversation};
pub(crate) use client::serve_client;
pub(crate) use compaction::compact;
pub use conversation::conversations;
pub(crate) use exchange::{answer_exchange, put_exchange};
pub(crate) use session::{LiveAgents, end};
pub(crate) use tool::{call_tool, tool_call};
