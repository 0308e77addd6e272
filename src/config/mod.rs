//! `wf.yaml`, the workspace's configuration: optional and strict.
//!
//! **Invariant:** nothing here looks for the file or reads it; the face does.

mod file;
mod load;
mod settings;

pub use file::{
    AuditFile, ConfigFile, Durability, LogsFile, RetentionFile, SandboxFile, SandboxReads,
};
pub use load::load;
pub use settings::{Config, Logs, Retention, Sandbox};
