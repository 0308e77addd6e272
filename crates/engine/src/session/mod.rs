//! The services and settings that all runs of one program share, and the state they share in memory.
//!
//! It is the ground of the crate, and knows no run from inside. A field of [`SharedState`](engine_session::SharedState)
//! has the state of a room outliving a run.
//! **Invariant:** nothing here is needed to resume a run: it is made anew with the program.
//!
//! Start at `engine_session`; the other files are its parts.

pub(crate) mod end;
pub(crate) mod engine_session;
pub(crate) mod hosts;
pub(crate) mod remote_workspace;
pub(crate) mod state_addition;
pub(crate) mod waiting;

pub use end::FinishedRun;
pub(crate) use engine_session::UnitResult;
pub use engine_session::{EngineError, EngineSession, RunRequest};
