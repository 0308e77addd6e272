//! Runs of `wf` on a Temporal server: any number of workers, and no process that must live.
//!
//! A run is a workflow around the same machine that the local engine drives ([`driver`] and [`workflow`]), with one more for
//! each run that is nested in it, and each effect of a machine is an activity that carries it out with the code of the local
//! engine ([`site`]). What is large goes through an object store ([`objects`]) and not through the history: texts of plans,
//! logs, artifacts, the files of the workspace ([`tree`], [`findings`]). `wf run --on NAME` starts [`follow()`] as a program, which passes on the events of the run to be
//! recorded and shown where the command was given.
//!
//! **Invariant:** a workflow has no rule of its own about steps: it waits, and asks the machine.

mod activities;
mod backend;
mod bring_back;
mod caller;
mod checkout;
pub mod claims;
pub mod command;
mod connect;
mod driven_run;
pub mod driver;
pub mod findings;
mod follow;
mod followed_run;
mod goal_activities;
pub mod goal_keeper;
mod goal_log;
pub mod goal_order;
mod goal_permits;
mod goal_program;
pub mod goal_workflow;
pub mod inquiry;
mod inside;
mod local_copy;
mod lock_activities;
pub mod lock_claims;
pub mod lock_queue;
mod lock_workflow;
mod log;
pub mod objects;
mod open_work;
pub mod order;
mod plan;
mod pool;
mod progress;
mod rescue;
mod results;
mod run_folder;
mod running;
pub mod site;
mod site_family;
mod stored_workspace;
mod terminal;
pub mod tree;
mod tree_files;
mod versions;
mod waits;
mod work_ledgers;
mod worker;
mod worker_life;
pub mod workflow;

pub use backend::configured_backend;
pub use connect::{ConnectError, connect};
pub use follow::{FollowError, follow, say};
pub use goal_program::answer_goal_request;
pub use plan::RunPlans;
pub use progress::DriverError;
pub use terminal::note;
pub use worker::{WorkerFailure, WorkerPlace, work};
