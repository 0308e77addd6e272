//! The face: reads the command line and the surroundings, calls what does the work, and says how
//! it went.
//!
//! **Invariant:** the environment is read here and nowhere else. **Invariant:** an answer goes to
//! standard output, everything about how it came to it to standard error.
//!
//! Start at [`main`]; one file a command in `commands`.

mod env;
mod exit;
mod failure;
mod log_lines;
mod record;
mod subject;
mod which;
mod workspace;

pub use env::Env;
pub use exit::Exit;
pub use failure::Failure;
use record::load_record;
use subject::{Spot, Subject};
use workspace::{Workspace, normal, relative};
