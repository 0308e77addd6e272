//! The commands to write plans and run them: from a new workspace to the undo of a run.
//!
//! All ways to start a run end in `crate::execute`; here are their beginnings. Start at `run`, then `resume` and `retry`.

pub mod cancel;
pub mod check;
pub mod import;
pub mod init;
pub mod plan;
pub mod replay;
pub mod resume;
pub mod retry;
pub mod run;
pub mod suggestion;
pub mod undo;
