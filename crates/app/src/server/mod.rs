//! The workspace of a server elsewhere, over its interface for programs.
//!
//! ```text
//! address: which servers are spoken to ──▶ client: a request, and its answer or refusal ──▶ follow: a run until it ends
//!                                                                                       └─▶ answer: signed here
//! ```
//!
//! The server decides, by the rules of its workspace, and records whose key asked. Nothing is read from a state here.
//!
//! **Invariant:** a key goes to the server that was named and to no other: over TLS, or to this machine. It is in no argument and
//! in no message.
//!
//! Start at `client`.

mod address;
mod answer;
mod client;
mod follow;
mod plan;

pub use address::{ServerAddress, server_key};
pub use answer::{ServerRequest, sign_answer};
pub use client::{ServerClient, path_part};
pub use follow::{FollowEnd, FollowedEvent, FollowedLine, follow_output, follow_run};
pub use plan::{ServerPlan, sign_start};
