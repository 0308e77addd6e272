//! The user interface: reads the command line, calls the implementation, and reports the result.
//!
//! **Invariant:** an answer goes to
//! standard output, all messages about the way to it go to standard error.
//!
//! Start at [`start`]; the commands are in `commands`, one file each.

mod actions;
mod approve;
mod args;
mod cassette;
mod choose;
mod commands;
mod connections;
mod execute;
mod keys;
mod later;
mod log_lines;
mod log_prefix;
mod model_findings;
mod outlook;
mod params;
mod planning_log;
mod printed;
mod server;
mod skills;
mod start;
mod terminal;
mod ui;
mod which;

use terminal::Terminal;
use ui::Ui;
use which::RunArg;

fn main() -> std::process::ExitCode {
    start::main(std::env::args_os())
}
