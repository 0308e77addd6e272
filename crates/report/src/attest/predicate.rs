use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{
    Baseline, CheckRuling, CriteriaCount, IsolationKind, ProductChanges, RunOutcome, Standing, StepCounts,
    StepState,
};
use wf_model::{CheckCertainty, CheckPhase, FailureClass};

/// The content of a statement about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttestationPredicate {
    /// The version of wf that made it.
    pub wf: String,
    /// The run.
    pub run: AttestedRun,
    /// The workspace that its checks compared with, as it was at the start of the run, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// The results whose files changed after they were checked.
    pub stale: Vec<AttestedStaleResult>,
}

/// A run, or a nested one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedRun {
    /// Its id.
    pub id: RunId,
    /// The attempt that it is nested in, as `build[2]#1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_in: Option<String>,
    /// The run that it retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// The plan.
    pub plan: AttestedPlan,
    /// SHA-256 of its parameters as canonical JSON.
    pub params: Sha256Digest,
    /// The time of its start.
    pub started: Moment,
    /// The time of its end.
    pub ended: Moment,
    /// The outcome.
    pub outcome: RunOutcome,
    /// The standing of its result.
    pub standing: Standing,
    /// The number of passed criteria, if the result was accepted with less than all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<CriteriaCount>,
    /// The counts of its steps by outcome.
    pub counts: StepCounts,
    /// Its steps, and the items of repeated ones.
    pub steps: Vec<AttestedStep>,
    /// The verdicts on the plan's own criteria, in the last round.
    pub criteria: Vec<AttestedVerdict>,
    /// The hash of its last event, which binds every event of the log up to there.
    pub head: Sha256Digest,
    /// The runs nested in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<AttestedRun>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedPlan {
    /// Its id.
    pub id: PlanId,
    /// The path of its file.
    pub path: String,
    /// SHA-256 of `sources` as canonical JSON.
    pub digest: Sha256Digest,
    /// The texts that the run used, its own first. Nested runs use those of the outermost one, and list none.
    pub sources: Vec<AttestedText>,
}

/// A text that a run used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedText {
    /// Its path.
    pub path: String,
    /// SHA-256 of the text.
    pub digest: Sha256Digest,
}

/// A step, or an item of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedStep {
    /// The step.
    pub step: Name,
    /// The item, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The key of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// SHA-256 of the step's definition as canonical JSON of wf's own reading of it: the same text read by
    /// the same wf gives the same digest.
    pub definition: Sha256Digest,
    /// The alternative that it last used; absent if it was done as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Name>,
    /// The final state.
    pub state: StepState,
    /// The standing of its result.
    pub standing: Standing,
    /// The run that did the work, if the result was reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<RunId>,
    /// The cache key under which the result was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<String>,
    /// The files of the result, if it was reused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<AttestedFile>,
    /// Its attempts. Number 0 is a result from the cache.
    pub attempts: Vec<AttestedAttempt>,
}

/// An attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedAttempt {
    /// The number of the attempt.
    pub attempt: u32,
    /// The exit of its work: `code 0`, `signal 9`, `done`, `timed_out`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// The class of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The files that it left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<AttestedFile>,
    /// The files that it was checked with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<AttestedFile>,
    /// The verdicts on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<AttestedVerdict>,
}

/// A file with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedFile {
    /// Its path, relative to the workspace.
    pub path: String,
    /// SHA-256 of its content.
    pub digest: Sha256Digest,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttestedVerdict {
    /// The criterion.
    pub criterion: Name,
    /// The phase of the check; absent for `verify`.
    #[serde(default, skip_serializing_if = "CheckPhase::is_default")]
    pub phase: CheckPhase,
    /// The result of the check.
    pub ruling: CheckRuling,
    /// The class of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The strength of a pass.
    pub mode: CheckCertainty,
    /// The guards that confined the check. Absent: nothing was run; empty: nothing confined it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Vec<IsolationKind>>,
    /// The paths of the workspace hidden from its process, since they were new and nothing declared them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The products of the step that had changed since the run began; absent: that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<ProductChanges>,
    /// The files that the check names and a step changed, since its `writes` names them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_inputs: Vec<String>,
    /// True if the steps could change everything that the check read: its pass counts as reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unbounded: bool,
    /// SHA-256 of the evidence kept of its output.
    pub evidence: Sha256Digest,
}

/// A result whose files changed after it was checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AttestedStaleResult {
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
pub type DigestSet = BTreeMap<String, Sha256Digest>;
