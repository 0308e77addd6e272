//! Processes, requests and files: everything the engine starts is started here.
//!
//! Everything is bounded: memory regardless of a step's output, disk by the log limit, time by the
//! caller's timeout and short internal grace periods. Every future may be dropped at any point; the
//! processes it started end with it, except the work done by the [`supervisor`].
//!
//! ```text
//! engine ──▶ ProcessExecutor ──InProcess──▶ attempt, probe     tests, and callers without state
//!                   └──Supervised──▶ socket ──▶ the same, in a process that outlives the engine
//!
//! attempt, probe, dialogue ──▶ supervise ──▶ process ──▶ spawn             one process, from start to end
//!   the sink of its output        │             └──▶ sandbox ──▶ spawn     its view and its rights
//!   log, tails, lines             └──▶ tree      what it started, found and ended
//!
//! check, gate, planner ──▶ view ──▶ manifest     the workspace that a program judges
//!       └──▶ probe          ├──▶ originals       what it was when the run began
//!                           └──▶ pinned          the files that it may execute
//! agent_tool ──▶ probe                           a part of a step's work, in its sandbox
//! ```
//!
//! The rooms, from the top:
//!
//! ```text
//! room        what it is                                                   what it names below, besides `disk`
//! supervisor  the work of attempts, in a process that outlives the engine  work secrets log processes
//! gate        gates and planners: programs that answer like checks         work view processes
//! http        the requests of steps, and notifications                     work log step_files processes
//! work        attempts and checks, and where they run                      view pinned secrets log step_files sandbox processes
//! pinned      the files that a plan may execute                            view processes
//! view        the workspace that a check sees                              worktree originals manifest sandbox processes
//! worktree    copies of a repository, their versions and merges            processes
//! originals   the workspace as it was when the run began                   manifest sandbox
//! agent_tool  the tools of agents                                          repository sandbox processes
//! secrets     secrets and keys                                             processes
//! log         the output of attempts on disk                               step_files processes
//! mcp         the servers of tools                                         processes
//! sandbox     the confinement of a process                                 repository processes
//! processes   one process and what it starts
//! step_files, manifest, repository, fetch, disk   files, repositories and pages, without processes
//! ```
//!
//! Some names lead back up. `processes` starts a process in its `sandbox`, whose stages are processes, and with the files
//! that are `pinned` for it; a secret's program has these too, and `pinned` knows the command of a planner (`gate`).
//! `work::executor` may be the `supervisor`; `agent_tool`, `secrets`, `worktree` and the trial of a sandbox start their
//! programs through it, and a view asks the environment of its check (`work::check`). A sandbox has a stage for
//! `agent_tool`, shows folders of git from `originals`, and hides the keys of `secrets`.
//!
//! One question has one answer:
//!
//! - A process is a [`process::ProcessCommand`]. An attempt keeps its output in a [`log`]; a [`probe`]
//!   keeps the beginning in memory; a [`dialogue`] passes its lines on while it runs.
//! - A path of the workspace is opened below the root by [`confined_dir::ConfinedDir`]; a path of a
//!   sandbox, whose root is another, in `sandbox::root::mount`.
//! - A version of a file is a `disk::files::FileStamp`; a file of unknown kind is opened by
//!   `disk::files::open_regular`.
//! - The reason why work does not count is a [`WorkError`], which becomes an exit of the step.
//!
//! **Invariant:** only [`process`] and the stages of a [`sandbox`] spawn processes; the supervisor itself
//! is started by its client. **Invariant:** output is masked before it reaches the disk.
//!
//! Start at [`attempt::run`].

pub mod agent_tool;
pub mod fetch;
pub mod gate;
pub mod http;
pub mod log;
pub mod manifest;
pub mod mcp;
pub mod originals;
pub mod pinned;
pub mod runtime;
pub mod sandbox;
pub mod supervisor;
pub mod view;
pub mod worktree;

mod disk;
mod processes;
mod repository;
mod secrets;
mod step_files;
mod work;
mod work_error;

pub use disk::{cache, cached_files, confined_dir, evidence, files};
pub use gate::planner;
pub use processes::{
    container, dialogue, environment, probe, process, shell, supervise, tails::StreamTails, tree,
};
pub use runtime::spawn_task;
pub use secrets::{connection_secrets, keychain, keyfile, secret};
pub use step_files::{correction, outputs, usage};
pub use work::{attempt, check, executor::ProcessExecutor, wait};
pub use work_error::{StopLevel, WorkError};

/// The engine's own environment, read once by the CLI.
pub type HostEnv = std::collections::BTreeMap<String, String>;

/// A complete environment for a process: sorted, each name once.
pub type ProcessEnv = Vec<(String, String)>;

/// A callback receiving the masked output of a piece of work while it runs.
pub type OnOutput = Box<dyn FnMut(log::LogStream, &[u8]) + Send>;
