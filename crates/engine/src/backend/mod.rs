//! Runs a backend drives: a machine elsewhere decides, hosts do the work, and the record is kept here.
//!
//! ```text
//! here       remote ──▶ the program of the backend ──▶ events ──▶ family: a copy of the run, and of each nested in it
//! on a host  replica: a copy of the run ──▶ the units of `dispatch`, without its loop ──▶ inputs for the machine
//! carried    with the definition: state, past runs, conversations;  with the work: worktrees, additions to the state
//! ```
//!
//! Nothing below knows of it. **Invariant:** a copy of a run decides nothing: it has the events of the run in their order,
//! and without a gap.
//!
//! Start at `remote`, then `family` and `replica`; the files named after what they carry can be read alone.

pub(crate) mod carried_state;
mod carried_worktrees;
pub(crate) mod family;
mod link;
pub(crate) mod nested_run;
pub(crate) mod past_runs;
pub(crate) mod remote;
pub(crate) mod replica;
pub(crate) mod retried_results;
