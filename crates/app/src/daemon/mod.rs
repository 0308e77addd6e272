//! The daemon: examines goals when they are due.
//!
//! ```text
//! clock, files, pokes ──▶ look ──▶ goal::turn for each goal ──▶ ledger (one transaction each)
//!                          ▲                 │
//!                          │                 └──▶ a process for each reconciliation: `wf goal run --slot …`
//!                          └── the end of one
//! ```
//!
//! It decides and starts, and does no work itself: a reconciliation is a process of its own, which claims its
//! scheduled time in the transaction that records its run. So a daemon may die at any point: times that were
//! due and not claimed stay due, and claimed ones are adopted by the next daemon. One daemon leads: it holds
//! a lock, and writes under a token; a later token makes it invalid.
//!
//! **Invariant:** without an event nothing wakes it up before the next scheduled time, besides the look once a minute at the
//! runs nobody works on: a killed engine cannot say so.

mod begin;
mod broken;
mod children;
#[expect(clippy::module_inception, reason = "the module is named after what it is")]
mod daemon;
mod deployed;
mod idle_runs;
mod lead;
mod lines;
mod look;
mod reload;
mod report;
mod several;
mod waits;

pub use daemon::{DaemonOptions, LeadHook, run};
pub(crate) use lead::already_led;
pub use lines::prefix_with_goal;
pub use several::{DaemonWorkspace, WORKSPACE_VAR, end_with_parent, run_several};
