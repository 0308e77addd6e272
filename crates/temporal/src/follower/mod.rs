//! The program beside a command: it stores the workspace, starts the workflow of a run, passes on its events, and brings
//! back its artifacts.
//!
//! `follow` has the loop, `followed_run` the questions to the server, `local_copy` the copy in the state of the command,
//! `rescue` the end of a run without a worker for it.
//!
//! **Invariant:** a run needs no follower: a later one sees all of it.
//!
//! Start at [`follow()`](follow::follow); `stored_workspace` comes before the run, `bring_back` after it.

pub(crate) mod bring_back;
pub(crate) mod follow;
pub(crate) mod followed_run;
pub(crate) mod local_copy;
pub(crate) mod rescue;
pub(crate) mod stored_workspace;
