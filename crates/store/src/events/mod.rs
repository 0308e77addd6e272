//! The events of the log, for jobs that add some and for readers.
//!
//! `run_events` reads the events of a run, and adds one of no run; `log_row` reads all of them in order, and `run_end` the
//! end of a run where no projection is trusted. `verification` walks along the whole log.
//!
//! **Invariant:** the statement reading an event of a run compares it with its hash. Only `log_row` gives rows as they
//! are, to those who verify the log as a whole.
//!
//! Start at `run_events`.

pub(crate) mod log_row;
pub(crate) mod run_end;
pub(crate) mod run_events;
pub(crate) mod verification;
