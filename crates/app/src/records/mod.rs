//! The record of runs, as people read it: lists, records, logs, model calls, the reasons for results, and the statements
//! that follow from them.
//!
//! ```text
//! tasks ◀── logs, calls, explanation, reverification: of a run, or of a named task
//! list, run, artifacts, attestation: of a run
//! ```
//!
//! **Invariant:** nothing here changes the state; a verification runs checks, and records nothing.
//!
//! Start at `tasks`; the others can be read alone.

mod artifacts;
mod attestation;
mod calls;
mod explanation;
mod list;
mod logs;
mod reverification;
mod run;
mod tasks;

pub use artifacts::{OpenedArtifact, open_artifact, open_artifact_with};
pub use attestation::attest_run;
pub(crate) use calls::body;
pub use calls::{CallView, exchanges_text, view_call};
pub use explanation::{TaskReasons, is_check_run, recorded_plan, recorded_rounds};
pub use list::{RunList, RunListQuery};
pub use logs::{AttemptLog, LogSelection};
pub use reverification::{VerifiedRun, verify_run};
pub use run::{LogTails, load_record, name_parent_of, record_document, record_of_run, recorded_params};
pub(crate) use tasks::named_task;
pub use tasks::{ResolvedTask, find_step, require_task, unknown_step};
pub use wf_store::ComparedFile;
