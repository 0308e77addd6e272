use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Claim, Token};
use crate::digest::Digest;
use crate::machine::Event;
use crate::model::Object;
use crate::name::{PlanId, RunId};
use crate::time::Moment;

/// Events that become durable together, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The run they belong to.
    pub run: RunId,
    /// What they are written under: the token of the run, or of the one that it is nested in.
    pub token: Token,
    /// How many events of the run they follow. They are refused if there are others, so that a
    /// batch never closes the ranks behind one that could not be written. `None`: any number.
    pub after: Option<u64>,
    /// The run itself, with its first events.
    pub new: Option<NewRun>,
    /// The events, in order.
    pub events: Vec<Event>,
}

/// A run as it is recorded before its first event.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// Its plan.
    pub plan: PlanId,
    /// The path of its spec, relative to the workspace.
    pub path: String,
    /// Its resolved parameters.
    pub params: Object,
    /// The run and the attempt (as shown, `step[item]#n`) that it is nested in.
    pub parent: Option<(RunId, String)>,
    /// The run that it repeats.
    pub retry_of: Option<RunId>,
    /// The texts that it runs by: path and content, its own spec first.
    pub sources: Vec<(String, String)>,
    /// When it was recorded.
    pub created: Moment,
    /// The configuration that it runs under, as the engine writes it. The store adds `durability`.
    pub config: Value,
    /// What of a goal it is begun for, if it is.
    pub claim: Option<Claim>,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The number of the last event of the run.
    pub last: u64,
    /// Where each event stands in the log, in order; the row that records the run comes first, if
    /// the batch had it.
    pub rows: Vec<LogPlace>,
}

/// The place of an event in the log: its number there, from one, and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPlace {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub hash: Digest,
}

/// A run's first row of the log, number 0: what [`NewRun`] says, with texts by their digests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// When; named as in an event.
    pub at: Moment,
    /// Its id.
    pub run: RunId,
    /// Its plan.
    pub plan: PlanId,
    /// The path of its spec.
    pub path: String,
    /// Its parameters.
    pub params: Object,
    /// The run and the attempt that it is nested in.
    pub parent: Option<(RunId, String)>,
    /// The run that it repeats.
    pub retry_of: Option<RunId>,
    /// The texts that it runs by.
    pub sources: Vec<(String, Digest)>,
    /// The configuration that it runs under.
    pub config: Value,
}
