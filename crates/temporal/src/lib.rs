//! Runs of `wf` on a Temporal server: any number of workers, and no process that must live.
//!
//! A run is a workflow around the same machine the local engine drives, with one more for each run nested in it, and
//! each effect of a machine is an activity carrying it out with the code of the local engine. What is large goes
//! through an object store and not through the history: texts of plans, logs, artifacts, the files of the workspace.
//! `wf run --on NAME` starts [`follow()`] as a program, which passes on the events of the run to be recorded and shown
//! where the command was given.
//!
//! ```text
//! worker ──▶ goals ──▶ follower ──▶ workflows ──▶ host ──▶ run ──▶ messages ──▶ files, locks
//! ```
//!
//! Each room uses those to its right:
//!
//! - `worker`: the process with all workflows and activities.
//! - `goals`: deployed goals, from their decisions to the program behind the commands.
//! - `follower`: the program beside a command: starts a run, follows it, brings back its artifacts.
//! - `workflows`: the workflows and activities of runs and of named locks.
//! - `host`: the folders of runs on the host of a worker, and the work in them.
//! - `run`: the decisions about a run, without its waits.
//! - `messages`: the messages between all of these.
//! - `files`: the files of a run as objects; `locks`: the rights of tasks to names and files.
//!
//! Start at [`driver`], then [`workflow`], and `Sites::work` in `host`.
//!
//! **Invariant:** a workflow has no rule of its own about steps: it waits, and asks the machine.

mod connect;
mod files;
mod follower;
mod goals;
mod host;
mod locks;
mod messages;
mod run;
mod worker;
mod workflows;

pub use connect::{ConnectError, ConnectFault, configured_backend, connect};
pub use files::{findings, objects, tree};
pub use follower::follow::{FollowError, follow, say};
pub use goals::{
    keeper as goal_keeper,
    program::{GoalProgramError, answer_goal_request},
    workflow as goal_workflow,
};
pub use locks::queue as lock_queue;
pub use messages::{command, goal_order, order};
pub use run::{driver, plan::RunPlans, progress::DriverError};
pub use worker::{WorkerFailure, WorkerPlace, log_line, work};
pub use workflows::workflow;
