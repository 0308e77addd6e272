//! The supervisor: the process that owns every process of a run and outlives the engine.
//!
//! The engine starts one supervisor and delegates every process to it: the work of attempts, checks, programs printing
//! secrets. The supervisor starts them, writes their logs, enforces their timeouts, and records starts and outcomes in
//! its *journal*. If the engine dies, checks die with it and the work continues: a later engine finds the supervisor by
//! its socket, or its journal if it is gone, too, and learns the outcome as if nothing had happened. See [`recall()`].
//!
//! ```text
//! engine ──one connection for attempts, one a probe──▶ supervisor ──▶ session of the attempt, and its tree
//!    └──── presence: its end is the engine's death      └── keepers/<id>.journal
//! ```
//!
//! **Invariant:** the journal records an attempt before its process starts. An attempt no journal names was never
//! started, and is safe to start. **Invariant:** a run taken over is *sealed* at the supervisors of its former owners:
//! nothing of it begins there any more.

mod client;
mod connection;
mod frame;
mod journal;
mod message;
mod mux;
mod recall;
mod request;
mod serve;
mod state;
mod subscription;

pub use client::{SupervisorClient, SupervisorLost, SupervisorStart};
pub use journal::{JournalLine, JournalRecord, SupervisorJournal, read_record as read_journal};
pub use message::RunAttempt;
pub use recall::{
    RecalledOutcome, SupervisorSearch, at_work, conclude, orphans, outlast, recall, supervisors,
};
pub use request::JobHooks;
pub use serve::serve;
