//! The process that owns every process of a run, and outlives the engine.
//!
//! The engine starts one keeper beside itself and asks it for everything that is a process: the
//! work of attempts, checks, programs that print secrets. The keeper starts them, writes their
//! logs, ends them when they take too long, and notes in its *journal* what began and how it
//! ended. If the engine dies, checks die with it, and the work goes on: a later engine finds the
//! keeper by its socket, or its journal if it is gone too, and learns the end of the work as if
//! nothing had happened. See [`recall()`].
//!
//! ```text
//! engine ──one connection for attempts, one a probe──▶ keeper ──▶ session of the attempt, and its tree
//!    └──── presence: its end is the engine's death      └── keepers/<id>.journal
//! ```
//!
//! Attempts that are *staged* wait at the keeper, which lets one begin in the place of another
//! that ended well: see [`Seat`]. If the engine dies they never begin.
//!
//! **Invariant:** the journal says that an attempt begins before its process is started. So what
//! no journal names was never started, and is safe to start. **Invariant:** a run that was taken
//! over is *sealed* at the keepers of its former owners: nothing of it begins there any more.

mod attend;
mod call;
mod client;
mod desk;
mod follow;
mod frame;
mod journal;
mod message;
mod mux;
mod pool;
mod recall;
mod serve;

pub use call::{Staged, Wires};
pub use client::{Keeper, Lost, Start};
pub use journal::{Entry, Journal, Note, read as read_journal};
pub use message::Task;
pub use pool::Seat;
pub use recall::{Past, Recall, at_work, conclude, keepers, orphans, outlast, recall};
pub use serve::serve;
