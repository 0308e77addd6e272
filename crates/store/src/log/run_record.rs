use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_base::digest::Sha256Digest;
use wf_base::name::{PlanId, RunId, SessionName};
use wf_base::time::Moment;
use wf_model::JsonObject;

/// A run's first row of the log, number 0: `NewRun`, with texts by their digests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NewRunRecord {
    /// The time, named as in an event.
    pub at: Moment,
    pub run: RunId,
    pub plan: PlanId,
    /// The path of its spec.
    pub path: String,
    pub params: JsonObject,
    /// The run and the attempt it is nested in.
    pub parent: Option<(RunId, String)>,
    pub retry_of: Option<RunId>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    pub sources: Vec<(String, Sha256Digest)>,
    pub config: Value,
}
