//! The use cases of `wf` above the engine, without a terminal.
//!
//! A use case returns its result, or a [`CommandError`] saying what happened and what to do, with the exit
//! code it means. What it needs of its environment it asks its [`Caller`], through which it also says on the
//! way what its result does not, and asks a person; another face than the command line is another [`Caller`].
//!
//! The common ground lies in this folder: [`Caller`], [`Host`], [`Workspace`], [`CommandError`], and
//! the modules of one word about them. The rooms, each naming mostly rooms below it:
//!
//! ```text
//! room                 contents                                                its arrows, besides to `specs`
//! server               the workspace of a server elsewhere, over its interface  approve keys
//! api                  the documents of the interface for programs             views records approve runs
//! views                the documents of pages                                  all nouns, state
//! daemon, resumption   automatic starts: due goals, runs to resume             goals daemon_io approve runs
//! goals                the files, the ledger and the reconciliations of goals  approve runs state daemon_io
//! connections, skills  their nouns, with the consent of people                 approve git keys
//! approve              the consent of people to runs                           keys skills goals runs
//! records, replay      the records of runs, and runs with models again         runs state specs
//! state                the state, as its owner looks at it and cares for it    approve connections keys runs
//! runs                 the needs of a run, found and opened                    git sessions config approve
//! authoring, mcp_pin   plans drafted by a model, tools reviewed by a person    config
//! memory               the memory across runs                                  approve keys
//! daemon_io            the system side of the daemon: alarms, notifications, health
//! specs                plans and goals, found and read                         config
//! config, git, keys, sessions   `wf.yaml`, repositories, keys, lines of work
//! ```
//!
//! Names lead back up where nouns ask each other: an approval is of a plan with its skills and may be of a goal
//! (`approve`, `skills`, `goals`), and the queue of a state holds requests for approval (`state`, `approve`).
//!
//! Start at [`session`], the opening of a run's needs; then [`load`], the reader of plans, [`approve`], which decides
//! whether they may run, and the room of a noun.
//!
//! **Invariant:** nothing here writes to a standard stream or reads one.

pub mod api;
pub mod approve;
pub mod authoring;
pub mod config;
pub mod connections;
pub mod daemon;
pub mod daemon_io;
pub mod gates;
pub mod git;
pub mod goals;
pub mod keep;
pub mod keys;
pub mod mcp_pin;
pub mod memory;
pub mod names;
pub mod records;
pub mod replay;
pub mod resumption;
pub mod revision;
pub mod server;
pub mod sessions;
pub mod skills;
pub mod views;
pub mod watch;

mod caller;
mod exit;
mod failure;
mod host;
mod run_options;
mod runs;
mod specs;
mod state;
mod test_clock;
#[cfg(test)]
mod tests;
mod workspace;
mod workspace_copy;
mod workspace_files;

pub use caller::{Caller, LineReader};
pub use exit::CliExitCode;
pub use failure::{CommandError, bug_report, usage_error};
pub use host::{FOR_TESTS, Host};
pub use revision::GitRevision;
pub use run_options::RunOptions;
pub use runs::{
    backend, lineage, plan_start, relied, resume, retry, run_acts, run_start, run_worktree, session,
    suggestions, trace, undo,
};
pub use specs::{collect, load, plans};
pub use state::{
    audit_log, backup, call_findings, doctor, logs,
    private_file::{LockedPrivateFile, PrivateFile, PrivateFileLock, PrivateFileVersion},
    queue,
    reader::StateReader,
    repair, restore, upgrade,
};
pub use test_clock::TestClock;
pub use wf_store::{feed::ActLogin, open_regular};
pub use workspace::{APPROVERS, CONFIG, Workspace, normalize_path, relative_path, require_utf8};
pub use workspace_copy::WorkspaceCopy;
pub use workspace_files::workspace_files;
