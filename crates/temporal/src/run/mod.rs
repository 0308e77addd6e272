//! The decisions about a run and those nested in it, without the waits: occurrences go in, commands come out.
//!
//! [`driver`] has the loop around their machines; `driven_run` is one of them, `open_work` the work without a report, `log`
//! their events as pages of objects, `progress` the state for the next workflow of the run, `plan` the plans of the process.
//!
//! **Invariant:** the driver reads no clock and waits for nothing: the same occurrences give the same commands, on
//! every worker replaying a history.
//!
//! Start at [`driver`], then its parts: `reports`, `nested`, `locks`.

pub(crate) mod driven_run;
pub mod driver;
pub(crate) mod log;
pub(crate) mod open_work;
pub(crate) mod plan;
pub(crate) mod progress;
