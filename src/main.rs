//! The user interface: reads the command line, calls the implementation, and reports the result.
//!
//! **Invariant:** an answer goes to
//! standard output, all messages about the way to it go to standard error.
//!
//! Start at [`start`]; the commands are in `commands`, one file each.

mod approve;
mod args;
mod begun;
mod choose;
mod collect;
mod commands;
mod connections;
mod daemon;
mod execute;
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
mod terminal;
mod ui;
mod watch;
mod which;

use begun::RunOptions;
use record::{load_record, outermost_parent};
use revision::GitRevision;
use terminal::Terminal;
use ui::Ui;
use wf_app::{CliExitCode, CommandError, Workspace, normalize_path, relative_path, require_utf8};
use which::RunArg;

fn main() -> std::process::ExitCode {
    start::main(std::env::args_os())
}
