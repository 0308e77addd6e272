//! The request to a planner, with the forbidden tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    agent::authoring::{CalibrationEntry, MemoryCalibration},
    machine::words::{FailedCheck, IntentAdvice, Round},
};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId},
};
use wf_model::{FailureClass, Plan};

/// The version of a request.
pub(in crate::machine) const REQUEST_VERSION: u32 = 1;

/// The request to a planner, on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanRequest {
    /// The version of the request: 1. Within a version keys are only added.
    pub version: u32,
    /// The current plan.
    pub plan: PlanState,
    /// The purpose of the plan.
    pub intent: PlanIntent,
    /// The ended round, without a declared alternative left.
    pub round: Round,
    /// The failed criteria and work.
    pub gap: Vec<PlanFailure>,
    /// The tools and targets not to be used.
    pub must_not: PlannerRestrictions,
    /// The tools preferred by memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub should_prefer: Vec<PreferredTool>,
    /// The knowledge of memory about such a task, with reasons; read for each request.
    #[serde(default, skip_serializing_if = "MemoryCalibration::is_empty")]
    pub calibration: MemoryCalibration,
    /// The reason why the last answer to this request was refused; absent: it is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
    /// The rounds before, oldest first.
    pub history: Vec<Round>,
    /// The changeable steps, each as it is done now: in the plan language, with `step`,
    /// `way` (absent: as written) and `ways`: the taken ids.
    pub steps: Vec<Value>,
}

impl PlanRequest {
    /// Returns the words of the task for the search of memory: the plan's purpose, and the steps
    /// with their tools and targets.
    pub fn subject(&self) -> String {
        let title = self.intent.title.as_deref().unwrap_or_default();
        let steps = self.steps.iter().flat_map(|step| ["step", "tool", "target"].map(|key| step.get(key)));
        let words: Vec<&str> = steps.flatten().filter_map(Value::as_str).collect();
        format!("{title} {} {}", self.intent.description, words.join(" "))
    }
}

/// The state of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanState {
    /// Its id.
    pub id: PlanId,
    /// The digest of all alternatives of its steps: it changes with every addition of a planner.
    pub digest: Sha256Digest,
}

/// The purpose of a plan, in its own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanIntent {
    /// Its title; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its description, and the prose outside its steps.
    pub description: String,
    /// The advice from memory on the outcomes of its runs; absent: too little is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<IntentAdvice>,
}

/// A failed criterion, or failed work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanFailure {
    /// The step; absent: the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Name>,
    /// The item, if the step is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The criterion; absent: the work itself failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<Name>,
    /// The expected result, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// The actual result, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// The failure class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// The output of the check, at most 1,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub evidence: String,
}

impl PlanFailure {
    /// Returns the failure of a check of the same task, or of the plan.
    pub(in crate::machine) fn of_check(&self, failed: &FailedCheck) -> Self {
        Self {
            step: self.step.clone(),
            item: self.item,
            criterion: Some(failed.criterion.clone()),
            expected: failed.expected.clone(),
            found: failed.found.clone(),
            failure_class: failed.failure_class,
            evidence: failed.evidence.clone(),
        }
    }
}

/// The tools and targets not to be used any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannerRestrictions {
    /// Tools, sorted.
    pub tools: Vec<String>,
    /// Targets, sorted.
    pub targets: Vec<String>,
    /// Classes of tools, sorted: those used in this run, if `break_symmetry` is ordered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The tools to avoid according to memory, as of the start of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<AvoidedTool>,
}

/// A tool to avoid, with its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AvoidedTool {
    /// The tool.
    pub tool: String,
    /// The target; absent: unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl From<&CalibrationEntry> for AvoidedTool {
    fn from(entry: &CalibrationEntry) -> Self {
        Self { tool: entry.tool.clone(), target: entry.target.clone() }
    }
}

/// A tool preferred by memory, with its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PreferredTool {
    /// The tool.
    pub tool: String,
    /// The target; absent: unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// True if a tool has only the name of a step: a text may use the word in another sense.
pub(in crate::machine) fn is_named_like_step(plan: &Plan, tool: &str) -> bool {
    let own = format!("{}/", plan.id());
    let tool = tool.strip_prefix(&own).unwrap_or(tool);
    plan.find(tool.split('.').next().unwrap_or(tool)).is_some()
}
