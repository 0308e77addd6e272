//! A run as recorded in the store: lists, reports, explanations.
//!
//! A [`RunRecord`] is everything known of one run, with the runs nested in it. The rooms: `calls` has the calls of agents,
//! models and tools, as a record shows them; `reports` makes texts and documents of a record, and no record names it.
//!
//! Start at `record`, then `decisions`, `lifecycle` and `spending`, its parts; then `reports`.

mod alternatives;
mod calls;
mod decisions;
mod error_line;
mod gaps;
mod lifecycle;
mod listing;
#[expect(clippy::module_inception, reason = "the module is named after its type")]
mod record;
mod reports;
mod rework;
mod spending;
mod stale;
#[cfg(test)]
pub(crate) mod tests;
mod unbegun;

pub use calls::{
    AgentCalls, AskedCall, BodyReader, CallApproval, CallBodyError, CallChain, CallGate, CallSources,
    DiffLine, DiffMark, ModelCallRecord, ShownAskedCall, ShownModelCall, ShownToolCall, ToolCallRecord,
    ToolCallText, exchange_text, planning_list, planning_text,
};
pub use decisions::{GateRecord, RecordedApproval, RunDecisions};
pub use error_line::error_line;
pub use gaps::GapTrajectory;
pub use lifecycle::{RunLifecycle, write_lifecycle};
pub use listing::{RunListing, StepProgress};
pub use record::{NestedRunRecord, RECORD_VERSION, RunRecord, row_display_name};
pub use reports::{
    findings::{all_pass, findings},
    junit::{OutputLookup, junit},
    otlp::{TraceParent, otlp_trace},
    runs::runs,
    show::show,
    summary::summary,
    taint::trust,
    why::{CacheExplanation, StepExplanation, deciding_tasks, explain_run, explain_step, explain_step_json},
};
pub use rework::LoopedAttempt;
pub use spending::{ModelCaller, ModelSpending};
pub use stale::StaleDependant;
pub use unbegun::UnbegunChild;
