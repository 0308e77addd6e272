//! The tasks: when each begins, how it ends, and what follows for the others and the run.
//!
//! **Invariant:** a task begins only with room, its locks, its gates' consent and budget. **Invariant:** each attempt that
//! began has one end.
//!
//! Start at `advance`: the steps that are due, and the phases of the run; then `admit` and `finish`, the two ends of an
//! attempt, and `retry`, the next one. `fan_out` expands repeated steps, `budget` and `timeouts` limit, `cancel` stops, `opening` and
//! `run_end` are the ends of the run, with `omission` for its standing. `resume` and `terminate` matter after a
//! crash only.

pub(super) mod admit;
pub(super) mod advance;
pub(super) mod budget;
pub(super) mod cancel;
pub(super) mod finish;
pub(super) mod generated;
pub(super) mod opening;
pub(super) mod resume;
pub(super) mod retry;
pub(super) mod run_end;
pub(super) mod terminate;
pub(super) mod timeouts;

mod fan_out;
mod omission;
