//! The request to a planner.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent::authoring::{CalibrationEntry, MemoryCalibration};
use crate::agent::truncate_briefing;
use crate::machine::feedback::FailedCheck;
use crate::machine::measure::RoundMeasurement;
use crate::machine::memory_advice::{AdviceKind, IntentAdvice};
use crate::machine::proposal::sketch;
use crate::machine::round::Round;
use crate::machine::state::{self, TaskIx, TaskRecord};
use crate::machine::turn::Machine;
use wf_base::digest::Sha256Digest;
use wf_base::name::{Name, PlanId};
use wf_model::{FailureClass, Plan, StepIx};

/// The version of a request.
pub(in crate::machine) const REQUEST_VERSION: u32 = 1;

/// The maximum number of preferred tools that a planner is told.
const MOST_PREFERRED: usize = 10;

/// The request to a planner, on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanRequest {
    /// The version of the request: 1. Within a version keys are only added.
    pub version: u32,
    /// The current plan.
    pub plan: PlanState,
    /// The purpose of the plan.
    pub intent: PlanIntent,
    /// The round that ended without a declared alternative left.
    pub round: Round,
    /// The failed criteria and work.
    pub gap: Vec<PlanFailure>,
    /// The tools and targets that must not be used.
    pub must_not: PlannerRestrictions,
    /// The tools that memory prefers.
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
    /// The steps that can be changed, each as it is done now: in the plan language, with `step`,
    /// `way` (absent: as written) and `ways`: the ids that are taken.
    pub steps: Vec<Value>,
}

impl PlanRequest {
    /// Returns the words by which memory finds what it knows about the task: what the plan is for, and the steps
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
    /// The digest of all alternatives of its steps: it changes with every one that a planner adds.
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

/// The tools and targets that must not be used any more.
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

/// A tool that memory prefers, with its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PreferredTool {
    /// The tool.
    pub tool: String,
    /// The target; absent: unspecified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Returns the digest of a plan as it is carried out: of the name and all alternatives of each of
/// its steps. Only additions by a planner change it, and nothing else that a run does.
pub(in crate::machine) fn digest(plan: &Plan) -> Sha256Digest {
    let steps = plan.steps().iter().map(|step| {
        let ways = step.ways().enumerate();
        let ways: Vec<Value> =
            ways.map(|(way, form)| json!([step.alternative_id(way), sketch(form)])).collect();
        json!([step.id, ways])
    });
    let steps: Vec<Value> = steps.collect();
    Sha256Digest::of_bytes(json!([plan.id(), steps]).to_string().as_bytes())
}

impl Machine {
    /// Returns the request to a planner about a round after which no declared alternative is left.
    pub(in crate::machine) fn plan_request(&self, measured: &RoundMeasurement, round: Round) -> PlanRequest {
        let parts = self.base.parts();
        let steps = self.can_change(measured).into_iter();
        PlanRequest {
            version: REQUEST_VERSION,
            plan: PlanState { id: parts.id.clone(), digest: digest(&self.base) },
            intent: self.intent(),
            gap: self.plan_failures(measured),
            must_not: self.must_not(&round),
            should_prefer: self.preferred_tools(),
            calibration: MemoryCalibration::default(),
            rejected: self.state.control.planning.as_ref().and_then(|planning| planning.rejected.clone()),
            round,
            history: self.state.control.history.clone(),
            steps: steps.map(|step| self.step_description(step)).collect(),
        }
    }

    /// Returns the purpose of the plan.
    pub(in crate::machine) fn intent(&self) -> PlanIntent {
        let parts = self.base.parts();
        PlanIntent {
            title: parts.title.clone(),
            description: parts.briefing.clone(),
            memory: self.state.control.intent.clone(),
        }
    }

    /// Returns the tools to avoid according to memory.
    pub(in crate::machine) fn avoided_tools(&self) -> Vec<AvoidedTool> {
        let advice = self.state.control.advice.iter();
        let avoided = advice.filter(|said| said.advice == AdviceKind::Avoid);
        let avoid = avoided.map(|said| AvoidedTool { tool: said.tool.clone(), target: said.target.clone() });
        avoid.collect()
    }

    /// Returns the tools that memory prefers: those of which most is known.
    pub(in crate::machine) fn preferred_tools(&self) -> Vec<PreferredTool> {
        let advice = self.state.control.advice.iter();
        let mut liked: Vec<_> = advice.filter(|said| said.advice == AdviceKind::Exploit).collect();
        liked.sort_by(|a, b| b.attention.total_cmp(&a.attention));
        let liked = liked.into_iter().take(MOST_PREFERRED);
        liked.map(|said| PreferredTool { tool: said.tool.clone(), target: said.target.clone() }).collect()
    }

    /// Returns the forbidden tools and targets after a round.
    pub(in crate::machine) fn must_not(&self, round: &Round) -> PlannerRestrictions {
        PlannerRestrictions {
            tools: round.blocked_tools.clone(),
            targets: round.blocked_targets.clone(),
            classes: (self.used_classes(round.solved.directive).into_iter()).collect(),
            avoid: self.avoided_tools(),
        }
    }

    /// Formats a step as it is done now.
    fn step_description(&self, step: u32) -> Value {
        let written = self.base.step(StepIx(step));
        let way = self.state.control.alternative_of(step) as usize;
        let mut description = written.with_alternative(way).map_or_else(|| json!({}), sketch);
        if let Some(Value::String(briefing)) = description.pointer_mut("/agent/briefing") {
            truncate_briefing(briefing);
        }
        let taken: Vec<&Name> = written.alternatives.iter().map(|one| &one.id).collect();
        description["step"] = json!(written.id);
        description["tool"] = json!(written.tool(way));
        description["ways"] = json!(taken);
        if let Some(id) = written.alternative_id(way) {
            description["way"] = json!(id);
        }
        description
    }

    /// Returns the failed criteria and work: of the steps that failed, then of the plan.
    fn plan_failures(&self, measured: &RoundMeasurement) -> Vec<PlanFailure> {
        let mut gap = Vec::new();
        for failed in &measured.failing {
            for (item, place) in self.state.step_record(failed.step).tasks() {
                gap.extend(self.task_failures(TaskIx { step: failed.step, item }, place));
            }
        }
        let of_plan = PlanFailure::default();
        gap.extend(self.state.refuted.iter().map(|failed| of_plan.of_check(failed)));
        gap
    }

    fn task_failures(&self, task: TaskIx, place: &TaskRecord) -> Vec<PlanFailure> {
        let Some(tries) = place.history_of_round() else {
            return Vec::new();
        };
        let blank = PlanFailure {
            step: Some(state::task_id(&self.plan, task).step),
            item: task.item,
            criterion: None,
            expected: String::new(),
            found: tries.exit.clone().unwrap_or_default(),
            failure_class: tries.failure_class,
            evidence: String::new(),
        };
        if tries.failed.is_empty() {
            return vec![blank];
        }
        let unmet = tries.failed.iter().map(|failed| blank.of_check(failed));
        unmet.collect()
    }
}
