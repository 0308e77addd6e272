//! The commands, one file each: the arguments, and the implementation.
//!
//! The comments on the arguments of a command are its help. **Invariant:** a command returns its
//! outcome; only `start` turns that into an exit code and a message.

pub mod answer;
pub mod approve;
pub mod attest;
pub mod audit;
pub mod backup;
pub mod cancel;
pub mod check;
pub mod completions;
pub mod connection;
pub mod daemon;
pub mod deny;
pub mod diff;
pub mod doctor;
pub mod gate;
pub mod goal;
pub mod graph;
pub mod import;
pub mod inbox;
pub mod init;
pub mod key;
pub mod list;
pub mod logs;
pub mod mcp;
pub mod memory;
pub mod plan;
pub mod queue;
pub mod replan;
pub mod replay;
pub mod restore;
pub mod resume;
pub mod retry;
pub mod run;
pub mod runs;
pub mod schema;
pub mod serve;
pub mod session;
pub mod show;
pub mod skill;
pub mod suggestion;
pub mod undo;
mod upgrade_outlook;
pub mod verify;
pub mod why;
