//! The use cases of commands and the daemon above the engine, without a terminal.
//!
//! A use case returns its result, or a [`CommandError`] that says what happened and what to do, with the exit
//! code that it means. [`config`] reads the settings of a workspace; [`daemon_io`] is the system side of the daemon: alarms, file
//! watches, notifications, the health endpoint. **Invariant:** nothing here prints or asks.

mod caller;
pub mod config;
pub mod connections;
pub mod daemon_io;
mod exit;
mod failure;
pub mod git;
pub mod goals;
mod host;
pub mod skills;
mod test_clock;
mod workspace;

pub use caller::Caller;
pub use exit::CliExitCode;
pub use failure::{CommandError, REPORT};
pub use host::{FOR_TESTS, Host};
pub use test_clock::TestClock;
pub use workspace::{APPROVERS, CONFIG, Workspace, normalize_path, relative_path, require_utf8};
