//! The request to a planner.

use serde_json::{Value, json};

use crate::{
    agent::{authoring::MemoryCalibration, truncate_briefing},
    machine::{
        rounds::{measure::RoundMeasurement, planner},
        state::{self, Run, TaskIx, parts::task_record::TaskRecord, tool_choice},
        words::{
            PlanFailure, PlanRequest, PlanState, PlannerRestrictions, Round,
            requests::{plan_request::REQUEST_VERSION, proposal::sketch},
        },
    },
};
use wf_base::{digest::Sha256Digest, name::Name};
use wf_model::{Plan, StepIx};

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

/// Returns the request to a planner about a round after which no declared alternative is left.
pub(in crate::machine) fn plan_request(run: &Run, measured: &RoundMeasurement, round: Round) -> PlanRequest {
    let parts = run.base().parts();
    let steps = planner::can_change(run, measured).into_iter();
    PlanRequest {
        version: REQUEST_VERSION,
        plan: PlanState { id: parts.id.clone(), digest: digest(run.base()) },
        intent: tool_choice::intent(run),
        gap: plan_failures(run, measured),
        must_not: must_not(run, &round),
        should_prefer: tool_choice::preferred_tools(run),
        calibration: MemoryCalibration::default(),
        rejected: run.state().control.planner_call().and_then(|planning| planning.rejected.clone()),
        round,
        history: run.state().control.past_rounds().to_vec(),
        steps: steps.map(|step| step_description(run, step)).collect(),
    }
}

/// Returns the forbidden tools and targets after a round.
pub(in crate::machine) fn must_not(run: &Run, round: &Round) -> PlannerRestrictions {
    PlannerRestrictions {
        tools: round.blocked_tools.clone(),
        targets: round.blocked_targets.clone(),
        classes: (planner::used_classes(run, round.solved.directive).into_iter()).collect(),
        avoid: tool_choice::avoided_tools(run),
    }
}

/// Formats a step as it is done now.
fn step_description(run: &Run, step: u32) -> Value {
    let written = run.base().step(StepIx(step));
    let way = run.state().control.alternative_of(step) as usize;
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
fn plan_failures(run: &Run, measured: &RoundMeasurement) -> Vec<PlanFailure> {
    let mut gap = Vec::new();
    for failed in &measured.failing {
        for (item, place) in run.state().step_record(failed.step).tasks() {
            gap.extend(task_failures(run, TaskIx { step: failed.step, item }, place));
        }
    }
    let of_plan = PlanFailure::default();
    gap.extend(run.state().proof.refuted_criteria().iter().map(|failed| of_plan.of_check(failed)));
    gap
}

fn task_failures(run: &Run, task: TaskIx, record: &TaskRecord) -> Vec<PlanFailure> {
    let Some(tries) = record.history_of_round() else {
        return Vec::new();
    };
    let blank = PlanFailure {
        step: Some(state::task_id(run.plan(), task).step),
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
