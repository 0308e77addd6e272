//! Processes, requests and files: everything that the engine starts is started here.
//!
//! Everything is bounded: memory regardless of a step's output, disk by the log limit, time by the
//! caller's timeout and short internal grace periods. Every future may be dropped at any point; the
//! processes it started end with it, except the work done by a [`keeper`], the supervisor.
//!
//! ```text
//! engine ──▶ Hands ──Own──▶ attempt, probe      tests, and callers without state
//!               └──Keeper──▶ socket ──▶ the same, in a process that outlives the engine
//! ```
//!
//! **Invariant:** only [`process`] spawns processes; the supervisor itself is started by its
//! client. **Invariant:** output is masked before it reaches the disk.
//!
//! Start at [`attempt::run`].

pub mod attempt;
pub mod beneath;
pub mod cache;
pub mod check;
pub mod container;
pub mod correction;
pub mod environment;
pub mod evidence;
pub mod files;
pub mod gate;
pub mod http;
pub mod keeper;
pub mod keychain;
pub mod keyfile;
pub mod log;
pub mod manifest;
pub mod outputs;
pub mod pinned;
pub mod planner;
pub mod probe;
pub mod process;
pub mod refs;
pub mod sandbox;
pub mod secret;
pub mod shell;
pub mod supervise;
pub mod talk;
pub mod tree;
pub mod usage;
pub mod view;
pub mod wait;

mod alone;
mod contain;
mod ends;
mod hands;
mod head;
mod pipe;
mod spawn;
mod stop;
mod unable;

pub use alone::alone;
pub use ends::StreamTails;
pub use hands::ProcessExecutor;
pub use stop::StopLevel;
pub use unable::WorkError;

/// The engine's own environment, read once by the CLI.
pub type HostEnv = std::collections::BTreeMap<String, String>;

/// A complete environment for a process: sorted, each name once.
pub type ProcessEnv = Vec<(String, String)>;

/// A callback that receives the masked output of a piece of work while it runs.
pub type OnOutput = Box<dyn FnMut(log::LogStream, &[u8]) + Send>;
