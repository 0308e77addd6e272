//! The face: reads the command line and the surroundings, calls what does the work, and says how
//! it went.
//!
//! **Invariant:** the environment is read here and nowhere else. **Invariant:** an answer goes to
//! standard output, everything about how it came to it to standard error.
//!
//! Start at [`main`]; one file a command in `commands`.

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

pub use exit::Exit;
pub use start::main;

use begun::Begun;
use env::Env;
use failure::Failure;
use record::{load_record, top};
use revision::Revision;
use ui::Ui;
use which::RunArg;
use workspace::{Workspace, must_be_text, normal, relative};
