//! Names: of steps, of plans, of runs.
//!
//! **Invariant:** a value of these types is well-formed; the only way in is `parse`.

mod kinds;
mod run;

pub use kinds::{BadName, EnvName, MAX_NAME, Name, PlanId};
pub use run::{AmbiguousRun, RunId};
