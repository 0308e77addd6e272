//! Processes, requests and files: everything that the engine starts is started here.
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
//!   log, output_head, lines       └──▶ tree      what it started, found and ended
//!
//! check, gate, planner ──▶ view ──▶ manifest     the workspace that a program judges
//!       └──▶ probe          ├──▶ originals       what it was when the run began
//!                           └──▶ pinned          the files that it may execute
//! agent_tool ──▶ probe                           a part of a step's work, in its sandbox
//! ```
//!
//! One question has one answer:
//!
//! - A process is a [`process::ProcessCommand`]. An attempt keeps its output in a [`log`]; a [`probe`]
//!   keeps the beginning in memory; a [`dialogue`] passes its lines on while it runs.
//! - A path of the workspace is opened below the root by [`confined_dir::ConfinedDir`]; a path of a
//!   sandbox, whose root is another, in `sandbox::mount`.
//! - A version of a file is a `stamp::FileStamp`; a file of unknown kind is opened by
//!   `files::open_regular`.
//! - The reason why work does not count is a [`WorkError`], which becomes an exit of the step.
//!
//! **Invariant:** only [`process`] and the stages of a [`sandbox`] spawn processes; the supervisor itself
//! is started by its client. **Invariant:** output is masked before it reaches the disk.
//!
//! Start at [`attempt::run`].

pub mod agent_tool;
pub mod attempt;
pub mod cache;
pub mod cached_files;
pub mod check;
pub mod confined_dir;
pub mod connection_secrets;
pub mod container;
pub mod correction;
pub mod dialogue;
pub mod environment;
pub mod evidence;
pub mod fetch;
pub mod files;
pub mod gate;
pub mod http;
pub mod keychain;
pub mod keyfile;
pub mod log;
pub mod manifest;
pub mod mcp;
pub mod originals;
pub mod outputs;
pub mod pinned;
pub mod planner;
pub mod probe;
pub mod process;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod shell;
pub mod supervise;
pub mod supervisor;
pub mod tree;
pub mod usage;
pub mod view;
pub mod wait;
pub mod worktree;

mod control_group;
mod executor;
mod memory_room;
mod mutex;
mod output_entry;
mod output_head;
mod output_pipe;
mod repository;
mod spawn;
mod spawn_task;
mod stamp;
mod stop_level;
mod tails;
mod work_error;

use mutex::lock;

pub use executor::ProcessExecutor;
pub use spawn_task::spawn_task;
pub use stop_level::StopLevel;
pub use tails::StreamTails;
pub use work_error::WorkError;

/// The engine's own environment, read once by the CLI.
pub type HostEnv = std::collections::BTreeMap<String, String>;

/// A complete environment for a process: sorted, each name once.
pub type ProcessEnv = Vec<(String, String)>;

/// A callback that receives the masked output of a piece of work while it runs.
pub type OnOutput = Box<dyn FnMut(log::LogStream, &[u8]) + Send>;
