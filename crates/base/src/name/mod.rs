//! Names: of steps, of plans, of runs, and of tasks as users write them.
//!
//! **Invariant:** a value of these types is well-formed; the only way in is `parse`.

mod call_address;
mod kinds;
mod subject;

pub use call_address::{CallAddress, CallAddressError, CallAsker};
pub use kinds::{
    AmbiguousRunError, ArgName, EnvName, GateId, MAX_NAME, Name, NameFormatError, PlanId, RefId, RunId,
    SessionName, SkillName,
};
pub use subject::{TaskPath, TaskPathError, TaskRef, has_paired_brackets};
