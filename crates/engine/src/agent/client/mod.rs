//! Programs that work as agents: coding agents and programs of the plan's author, as clients of the gateway.
//!
//! ```text
//! program ─▶ its port ─▶ queue ─▶ serve ─▶ machine: may it call? ─▶ call_model ─▶ machine: recorded ─▶ serve ─▶ program
//! ```
//!
//! The program runs in the sandbox of its step. Its requests wait in a queue, and are answered one at a time.
//! **Invariant:** a request is stored before the machine hears of it, and a reply reaches the program only once it is
//! recorded. **Invariant:** the program dies with the engine, and its token with the attempt.
//!
//! Start at `serve`.

mod exit;
mod process;
mod serve;
mod session;

pub(crate) use serve::serve_client;
pub(in crate::agent) use session::ClientSession;
