use std::sync::Arc;

use wf_model::{Plan, PlanEnvelope, PlanError, PlanParts};

/// Returns a generated plan as it runs: under the gates of the plan that declares the envelope, and with a budget that
/// is at most that of the envelope and of that plan.
pub fn bounded(envelope: &PlanEnvelope, outer: &Plan, plan: &Plan) -> Result<Arc<Plan>, PlanError> {
    let (own, outer) = (plan.parts(), outer.parts());
    let limits = [&own.budget, &envelope.budget, &outer.budget];
    let budget = limits.into_iter().flatten().cloned().reduce(|budget, other| budget.stricter(&other));
    Plan::new(PlanParts {
        gates: outer.gates.clone(),
        escalations: outer.escalations.clone(),
        budget,
        ..own.clone()
    })
}
