//! The work of a step and its checks, as the engine orders it.
//!
//! ```text
//! engine ──▶ executor ──▶ attempt, probe     here, or in a supervisor that outlives the engine
//! engine ──▶ check ──▶ a view of the workspace, then the executor ──▶ a verdict
//! ```
//!
//! It uses all rooms below: processes, files, sandboxes and views. Rooms of other programs, as those of gates and of
//! git, name its executor, which is where processes run.
//! **Invariant:** a check is no part of what it judges: it has its own process, environment and view.
//!
//! Start at `attempt`, then `check`; `executor` says where they run, and `wait` waits for a file.

pub mod attempt;
pub mod check;
pub mod executor;
pub mod wait;
