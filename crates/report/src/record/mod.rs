//! A run as recorded in the store: lists, reports, explanations.
//!
//! A [`RunRecord`] is everything known of one run, with the runs nested in it.

mod findings;
mod gaps;
mod held;
mod junit;
mod life;
mod looped;
#[expect(clippy::module_inception, reason = "the module is named after its type")]
mod record;
mod redone;
mod runs;
#[cfg(test)]
mod sample;
mod shaken;
mod show;
mod summary;
mod trust;
mod why;

pub use findings::{all_pass, findings};
pub use gaps::GapTrajectory;
pub use held::{GateRecord, RecordedApproval, RunDecisions};
pub use junit::{OutputLookup, junit};
pub use life::{RunLifecycle, write_lifecycle};
pub use looped::LoopedAttempt;
pub use record::{NestedRunRecord, RECORD_VERSION, RunRecord};
pub use runs::runs;
pub use shaken::StaleDependant;
pub use show::show;
pub use summary::summary;
pub use trust::trust;
pub use why::{CacheExplanation, StepExplanation, explain_step, explain_step_json};
