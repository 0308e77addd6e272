//! What holds in a workspace: `wf.yaml`, its configuration, and `approvers.yaml`, who may approve
//! what runs in it. Optional and strict.
//!
//! **Invariant:** nothing here looks for the file or reads it; the face does.

mod approvers;
mod autonomy;
mod file;
mod load;
mod settings;

pub use approvers::{ApproverFile, ApproversFile, Day, KeyText, load_approvers};
pub use autonomy::AutonomyFile;
pub use file::{
    AuditFile, ConfigFile, Durability, LogsFile, RetentionFile, SandboxFile, SandboxReads,
};
pub use load::load;
pub use settings::{Config, Logs, Retention, Sandbox};
