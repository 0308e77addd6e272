//! The tasks: when each begins, how it ends, and what follows for the others and the run.
//!
//! **Invariant:** a task begins only with room, its locks, its gates' consent and budget. **Invariant:** each attempt that
//! began has one end.
//!
//! Start at `advance`, which begins whatever may begin now; then `admit` and `finish`, the two ends of an attempt. `fan_out`
//! expands repeated steps, `budget` and `timers` limit, `cancel` stops, `opening` and `run_end` are the ends of the run, with
//! `omission` for its standing. `resume`, `restore` and `terminate` matter after a crash only.

pub(super) mod restore;

mod admit;
mod advance;
mod budget;
mod cancel;
mod fan_out;
mod finish;
mod generated;
mod omission;
mod opening;
mod resume;
mod run_end;
mod terminate;
mod timers;
