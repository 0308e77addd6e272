//! The use cases of `wf` above the engine, without a terminal.
//!
//! A use case returns its result, or a [`CommandError`] that says what happened and what to do, with the exit
//! code that it means. What it needs of its environment it asks its [`Caller`], through which it also says on the
//! way what its result does not, and asks a person; another face than the command line is another [`Caller`].
//!
//! [`load`] reads plans, [`approve`] decides whether they may run, [`session`] opens what a run needs. [`goals`],
//! [`skills`], [`connections`], [`sessions`] and [`keys`] are the rooms of their nouns. [`daemon`] examines goals when they are
//! due; [`daemon_io`] is its system side: alarms, file watches, notifications, the health endpoint.
//!
//! **Invariant:** nothing here writes to a standard stream or reads one.

mod act_origin;
pub mod approve;
pub mod audit_log;
pub mod authoring;
pub mod backend;
mod backend_names;
mod background;
pub mod call_findings;
mod caller;
pub mod collect;
pub mod config;
pub mod connections;
pub mod daemon;
pub mod daemon_io;
pub mod doctor;
mod exit;
mod failure;
pub mod git;
pub mod given;
pub mod goals;
mod history_size;
mod host;
pub mod keep;
mod kept_checkpoint;
pub mod keys;
pub mod lineage;
pub mod load;
pub mod logs;
pub mod mcp_pin;
pub mod memory;
pub mod names;
mod needs;
pub mod outdated;
pub mod plans;
pub mod queue;
pub mod record;
pub mod relied;
pub mod repair;
pub mod restore;
pub mod resumption;
pub mod revision;
mod run_options;
pub mod run_start;
pub mod run_worktree;
pub mod session;
pub mod sessions;
pub mod skills;
pub mod suggestions;
mod test_clock;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod undo;
pub mod views;
pub mod watch;
mod workspace;
mod workspace_copy;
mod workspace_files;

pub use act_origin::ActOrigin;
pub use caller::{Caller, LineReader};
pub use exit::CliExitCode;
pub use failure::{CommandError, REPORT};
pub use host::{FOR_TESTS, Host};
pub use revision::GitRevision;
pub use run_options::RunOptions;
pub use test_clock::TestClock;
pub use wf_store::open_regular;
pub use workspace::{APPROVERS, CONFIG, Workspace, normalize_path, relative_path, require_utf8};
pub use workspace_copy::WorkspaceCopy;
pub use workspace_files::workspace_files;
