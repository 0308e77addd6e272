//! The hands: processes, requests, files. What the engine starts, it starts here.
//!
//! Everything is bounded: memory whatever a step prints, disk by the log limit, time by the
//! caller's timeout and by short grace times of its own. Every future may be dropped at any
//! point; the processes it started then end with it, except the work that a [`keeper`] does.
//!
//! ```text
//! engine ──▶ Hands ──Own──▶ attempt, probe      tests, and whoever has no state
//!               └──Keeper──▶ socket ──▶ the same, in a process that outlives the engine
//! ```
//!
//! **Invariant:** only [`process`] spawns, and the keeper itself is started by its client. **Invariant:** nothing reaches the disk before the
//! mask has seen it.
//!
//! Start at [`attempt::run`].

pub mod attempt;
pub mod beneath;
pub mod cache;
pub mod check;
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
pub use ends::Ends;
pub use hands::Hands;
pub use stop::Stop;
pub use unable::Unable;

/// The environment of the engine itself, read once at the face.
pub type Host = std::collections::BTreeMap<String, String>;

/// A complete environment for a process, in order, each name once.
pub type Env = Vec<(String, String)>;

/// Is shown the masked output of a piece of work while it runs.
pub type OnOutput = Box<dyn FnMut(log::Stream, &[u8]) + Send>;
