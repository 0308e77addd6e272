//! The rules of the plan alone.

use std::{collections::BTreeMap, sync::Arc};

use crate::machine::{
    state::TaskIx,
    words::{GatePoint, ProposedAlternative, Standing, gates_at},
};
use wf_base::{digest::Sha256Digest, name::Name};
use wf_model::{Check, CheckCertainty, CheckPhase, JsonObject, Plan, Step, StepRepetition, StepWork};

/// Returns the problem with the outputs of a successful attempt, if any. The outputs of a nested
/// plan were checked against its own declarations.
pub(in crate::machine) fn bad_outputs(step: &Step, outputs: &JsonObject) -> Option<String> {
    if matches!(step.work, StepWork::Uses(_)) {
        return None;
    }
    step.outputs.iter().find_map(|output| match outputs.get(output.name.as_str()) {
        None => Some(format!("output `{}` is missing", output.name)),
        Some(value) => {
            let mistake = output.schema.first_mistake(value)?;
            Some(format!("output `{}`: {mistake}", output.name))
        }
    })
}

/// Returns the plan with the given alternatives in use.
pub(in crate::machine) fn with_alternatives(base: &Arc<Plan>, ways: &BTreeMap<u32, u32>) -> Arc<Plan> {
    if ways.is_empty() { Arc::clone(base) } else { base.with_chosen_alternatives(ways) }
}

/// Returns a plan extended by a proposal.
pub(in crate::machine) fn extend_plan(
    base: &Arc<Plan>,
    ways: &BTreeMap<Name, ProposedAlternative>,
) -> Arc<Plan> {
    let more = ways.iter().filter_map(|(name, proposal)| {
        let ix = base.find(name.as_str())?;
        let alternative = proposal.alternative(base, base.step(ix)).ok()?;
        Some((ix.0, alternative))
    });
    base.with_alternatives(more.collect())
}

pub(in crate::machine) fn of_phase(checks: &[Check], phase: CheckPhase) -> impl Iterator<Item = &Check> {
    checks.iter().filter(move |check| check.phase == phase)
}

/// Returns the standing of passed checks: the weakest of them decides.
pub(in crate::machine) fn standing_of(checks: &[Check]) -> Standing {
    let plausible = checks.iter().any(|check| check.mode == CheckCertainty::Plausible);
    if plausible { Standing::Plausible } else { Standing::Verified }
}

/// True if the work of a step takes up room: a wait of any kind takes none.
pub(in crate::machine) fn takes_room(plan: &Plan, task: TaskIx) -> bool {
    !matches!(plan.step(task.ix()).work, StepWork::Wait(_) | StepWork::Approve(_))
}

/// True if gates are asked at a point.
pub(in crate::machine) fn has_gates(plan: &Plan, task: Option<TaskIx>, point: GatePoint) -> bool {
    gates_at(plan, task.map(TaskIx::ix), point).next().is_some()
}

/// Returns the digest behind the numbers in a state: of the steps of a plan, in order.
pub(in crate::machine) fn steps_digest(plan: &Plan) -> Sha256Digest {
    let mut text = format!("{} {}", plan.id(), plan.parts().main);
    for step in plan.steps() {
        let repeated = !matches!(step.fan, StepRepetition::Once);
        text += &format!("\n{} {repeated}", step.id);
        text.extend(step.depends_on.iter().map(|ix| format!(" {}", ix.0)));
        text.extend(step.alternatives.iter().map(|way| format!(" {}", way.id)));
    }
    Sha256Digest::of_bytes(text.as_bytes())
}
