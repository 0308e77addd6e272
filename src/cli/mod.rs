//! The face: reads the command line and the surroundings, calls what does the work, and says how
//! it went.
//!
//! **Invariant:** the environment is read here and nowhere else. **Invariant:** an answer goes to
//! standard output, everything about how it came to it to standard error.
//!
//! Start at [`main`]; one file a command in `commands`.

mod args;
mod collect;
mod commands;
mod env;
mod execute;
mod exit;
mod failure;
mod health;
mod keep;
mod load;
mod log_lines;
mod params;
mod record;
mod same;
mod start;
mod subject;
mod ui;
mod which;
mod workspace;

pub use exit::Exit;
pub use start::main;

use env::Env;
use failure::Failure;
use record::load_record;
use subject::{Spot, Subject};
use ui::Ui;
use which::RunArg;
use workspace::{Workspace, normal, relative};
