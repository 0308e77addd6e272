//! The rows that say which process works on which run, and what its tasks hold: each function works in a transaction
//! of its caller, on a connection.
//!
//! `process` identifies processes and says whether one lives; `holder` is one open store of a process. `run_lease`
//! has the leases of runs, `locks` the named locks of tasks, `permits` their permits to execute.
//!
//! **Invariant:** a lease another one follows is refused for every write, whatever its holder believes.
//! **Invariant:** a lock or a permit of a dead process is passed on.
//!
//! Start at `run_lease`, then `locks` and `permits`.

pub(crate) mod holder;
pub(crate) mod locks;
pub(crate) mod permits;
pub(crate) mod process;
pub(crate) mod run_lease;
