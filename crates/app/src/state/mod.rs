//! The state of a workspace, as its owner cares for it and looks at it: its reader, its queue, its audit log, its
//! examination and its repair.
//!
//! ```text
//! reader ──▶ record of a run, queue, audit_log: what is in it
//! doctor ──▶ history_size, logs, call_findings: how it is ──▶ backup, upgrade, repair, restore: alone, under the lock of the leader
//! ```
//!
//! **Invariant:** all but `repair`, `restore`, the checkpoint that a verification keeps, the `start_files` and the `private_file` of a caller only read.
//!
//! Start at `reader`, then `doctor`; the others can be read alone.

pub mod audit_log;
pub mod backup;
pub mod call_findings;
pub mod doctor;
pub(crate) mod file_lock;
pub(crate) mod history_size;
pub(crate) mod kept_checkpoint;
pub mod logs;
pub(crate) mod private_file;
pub mod queue;
pub(crate) mod reader;
pub(crate) mod record;
pub mod repair;
pub mod restore;
pub(crate) mod start_files;
pub mod upgrade;
