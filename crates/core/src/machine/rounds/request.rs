//! The request to a planner.

use serde_json::{Value, json};

use crate::agent::authoring::MemoryCalibration;
use crate::agent::truncate_briefing;
use crate::machine::rounds::measure::RoundMeasurement;
use crate::machine::state::machine_state::TaskRecord;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::requests::plan_request::REQUEST_VERSION;
use crate::machine::words::requests::proposal::sketch;
use crate::machine::words::{
    AdviceKind, AvoidedTool, PlanFailure, PlanIntent, PlanRequest, PlanState, PlannerRestrictions,
    PreferredTool, Round,
};
use wf_base::digest::Sha256Digest;
use wf_base::name::Name;
use wf_model::{Plan, StepIx};

/// The maximum number of preferred tools that a planner is told.
const MOST_PREFERRED: usize = 10;

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

impl Run {
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
