//! The user interface: reads the command line and the environment, calls the implementation, and
//! reports the result.
//!
//! **Invariant:** the environment is read here and nowhere else. **Invariant:** an answer goes to
//! standard output, all messages about the way to it go to standard error.
//!
//! Start at [`main`]; the commands are in `commands`, one file each.

mod approve;
mod args;
mod begun;
mod choose;
mod collect;
mod commands;
mod connections;
mod daemon;
mod env;
mod execute;
mod exit;
mod failure;
mod given;
mod goals;
mod health;
mod keep;
mod keys;
mod later;
mod lineage;
mod load;
mod log_lines;
mod outdated;
mod outlook;
mod params;
mod plans;
mod record;
mod relied;
mod revision;
mod skills;
mod start;
mod ui;
mod watch;
mod which;
mod workspace;

pub use exit::CliExitCode;
pub use start::main;

use begun::RunOptions;
use env::CliEnv;
use failure::CommandError;
use record::{load_record, outermost_parent};
use revision::GitRevision;
use ui::Ui;
use which::RunArg;
use workspace::{Workspace, normalize_path, relative_path, require_utf8};
