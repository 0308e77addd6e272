use serde_json::Value;

use crate::lease::owners::FencingToken;
use crate::log::tail::LogPosition;
use crate::tables::claim::ReconciliationClaim;
use wf_base::name::{PlanId, RunId, SessionName};
use wf_base::time::Moment;
use wf_core::machine::Event;
use wf_model::JsonObject;

/// A batch of events that become durable together, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct EventBatch {
    /// The run they belong to.
    pub run: RunId,
    /// The token they are written under: that of the run, or of the run that it is nested in.
    pub token: FencingToken,
    /// The number of events of the run that must precede the batch; with any other number it is
    /// refused, so that a batch never hides one that could not be written. `None`: any number.
    pub after: Option<u64>,
    /// The run itself, with its first events.
    pub new: Option<NewRun>,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// A run, as recorded before its first event.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// Its plan.
    pub plan: PlanId,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    /// Its resolved parameters.
    pub params: JsonObject,
    /// The run and the attempt (as shown, `step[item]#n`) that it is nested in.
    pub parent: Option<(RunId, String)>,
    /// The run that this one retries.
    pub retry_of: Option<RunId>,
    /// The session that it belongs to; it must be active when an outermost run begins.
    pub session: Option<SessionName>,
    /// The texts of the run: path and content, its own spec first.
    pub sources: Vec<(String, String)>,
    /// The time at which it was recorded.
    pub created: Moment,
    /// The configuration of the run, as the engine writes it. The store adds `durability`.
    pub config: Value,
    /// The part of a goal that it is started for, if any.
    pub claim: Option<ReconciliationClaim>,
}

/// The result of appending a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendResult {
    /// The number of the last event of the run.
    pub last: u64,
    /// The position of each event in the log, in order; the row that records the run comes first,
    /// if the batch had it.
    pub rows: Vec<LogPosition>,
}
