use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::machine::{Baseline, Criteria, Guard, Outcome, Ruling, Standing, StepState, Tally};
use crate::model::{CheckPhase, Class, Mode};
use crate::name::{Name, PlanId, RunId};
use crate::time::Moment;

/// What is said of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicate {
    /// The version of wf that says it.
    pub wf: String,
    /// The run.
    pub run: RunSaid,
    /// The workspace that its checks compared with, as it was when the run began; absent: it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The results whose files are not what they were when they were checked.
    pub stale: Vec<StaleSaid>,
}

/// A run, or one that is nested in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSaid {
    /// Its id.
    pub id: RunId,
    /// The attempt that it is nested in, as `build[2]#1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_in: Option<String>,
    /// The run that it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// The plan.
    pub plan: PlanSaid,
    /// SHA-256 of its parameters as canonical JSON.
    pub params: Digest,
    /// When it began.
    pub started: Moment,
    /// When it ended.
    pub ended: Moment,
    /// How it ended.
    pub outcome: Outcome,
    /// How far its result is believed.
    pub standing: Standing,
    /// How many criteria hold, if the result was accepted with less than all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Criteria>,
    /// How its steps ended.
    pub tally: Tally,
    /// Its steps, and the items of those that were repeated.
    pub steps: Vec<StepSaid>,
    /// What was ruled on the plan's own criteria, in the last round.
    pub criteria: Vec<VerdictSaid>,
    /// The hash of its last event, which binds every event of the log up to there.
    pub head: Digest,
    /// The runs nested in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<RunSaid>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanSaid {
    /// Its id.
    pub id: PlanId,
    /// The path of its file.
    pub path: String,
    /// SHA-256 of `sources` as canonical JSON.
    pub digest: Digest,
    /// The texts that the run went by, its own first. Nested runs go by those of the outermost
    /// one, and name none.
    pub sources: Vec<Text>,
}

/// A text that a run went by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// Its path.
    pub path: String,
    /// SHA-256 of the text.
    pub digest: Digest,
}

/// A step, or an item of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepSaid {
    /// The step.
    pub step: Name,
    /// The item, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The key of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// SHA-256 of what the step says, as canonical JSON of wf's own reading of it: the same text
    /// read by the same wf has the same.
    pub definition: Digest,
    /// The alternative that it was done in last; absent: as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Name>,
    /// How it ended.
    pub state: StepState,
    /// How far its result is believed.
    pub standing: Standing,
    /// The run that did the work, if the result was taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<RunId>,
    /// The cache key under which the result was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<String>,
    /// Its attempts. Number 0 is a result from the cache.
    pub attempts: Vec<AttemptSaid>,
}

/// An attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptSaid {
    /// Which.
    pub attempt: u32,
    /// How its work ended: `code 0`, `signal 9`, `done`, `timed_out`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// Whose fault a failure is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// The files that it left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<File>,
    /// The files that it was checked with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<File>,
    /// What was ruled on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<VerdictSaid>,
}

/// A file with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct File {
    /// Its path, relative to the workspace.
    pub path: String,
    /// SHA-256 of its content.
    pub digest: Digest,
}

/// What a check ruled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictSaid {
    /// The criterion.
    pub criterion: Name,
    /// What it was asked for; absent: `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// The ruling.
    pub ruling: Ruling,
    /// Whose fault a failure is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// How much a pass says.
    pub mode: Mode,
    /// What confined the check. Absent: nothing was run; empty: nothing confined it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<Guard>>,
    /// What its process did not see of the workspace, since it was new and nothing declared it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// SHA-256 of the evidence that is kept of what it printed.
    pub evidence: Digest,
}

/// A result whose files are not what they were when it was checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StaleSaid {
    /// The run that the step belongs to.
    pub run: RunId,
    /// The step.
    pub step: Name,
    /// The item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The file.
    pub path: String,
}

/// Digests by the name of their algorithm, as in-toto writes them.
pub type DigestSet = BTreeMap<String, Digest>;
