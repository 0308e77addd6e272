//! A run as recorded in the store: lists, reports, explanations.
//!
//! A [`RunRecord`] is everything known of one run, with the runs nested in it.

mod alternatives;
mod calls;
mod decisions;
mod findings;
mod folded;
mod gaps;
mod junit;
mod left;
mod lifecycle;
mod otlp;
#[expect(clippy::module_inception, reason = "the module is named after its type")]
mod record;
mod rework;
mod runs;
mod show;
mod spending;
mod stale;
mod summary;
mod taint;
#[cfg(test)]
pub(crate) mod tests;
mod unbegun;
mod undo;
mod why;

pub use calls::{
    AgentCalls, AskedCall, BodyReader, CallApproval, CallChain, CallGate, CallSources, ModelCallRecord,
    ShownAskedCall, ShownModelCall, ShownToolCall, ToolCallRecord, exchange_text, planning_list,
    planning_text,
};
pub use decisions::{GateRecord, RecordedApproval, RunDecisions};
pub use findings::{all_pass, findings};
pub use gaps::GapTrajectory;
pub use junit::{OutputLookup, junit};
pub use lifecycle::{RunLifecycle, write_lifecycle};
pub use otlp::{TraceParent, otlp_trace};
pub use record::{NestedRunRecord, RECORD_VERSION, RunRecord};
pub use rework::LoopedAttempt;
pub use runs::runs;
pub use show::show;
pub use spending::{ModelCaller, ModelSpending};
pub use stale::StaleDependant;
pub use summary::summary;
pub use taint::trust;
pub use unbegun::UnbegunChild;
pub use why::{
    CacheExplanation, StepExplanation, deciding_tasks, explain_run, explain_step, explain_step_json,
};
