//! Names: of steps, of plans, of runs, and of places as people write them.
//!
//! **Invariant:** a value of these types is well-formed; the only way in is `parse`.

mod kinds;
mod run;
mod subject;

pub use kinds::{ArgName, BadName, EnvName, GateId, MAX_NAME, Name, PlanId, RefId, SkillName};
pub use run::{AmbiguousRun, RunId};
pub use subject::{BadSubject, Spot, Subject};
