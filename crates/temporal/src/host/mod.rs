//! The work of runs on the host of a worker: each run has a folder there, with its files and a copy of its log, and the code
//! of the local engine works in it.
//!
//! `site` opens the folders, brings them up to date for a piece of work, and reports on it; `site_family` has the copies of a
//! run and of those nested in it, `running` the attempts under way, `run_folder` and `versions` the files of the state for
//! other hosts, `worker_life` the life of the worker.
//!
//! **Invariant:** a folder may be lost at any time: another worker opens the run anew from its objects, and goes on.
//!
//! Start at `Sites::work` in `site`.

pub(crate) mod run_folder;
pub(crate) mod running;
pub(crate) mod site;
pub(crate) mod site_family;
pub(crate) mod versions;
pub(crate) mod worker_life;
