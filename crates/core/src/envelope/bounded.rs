use std::sync::Arc;

use wf_model::{Plan, PlanEnvelope, PlanError, PlanParts, PlanPolicy};

/// Returns a generated plan as it runs: under the gates of the plan declaring the envelope, with a budget at most that
/// of the envelope and of that plan, and with no more attempts at a time than that plan.
pub fn bounded(envelope: &PlanEnvelope, outer_plan: &Plan, plan: &Plan) -> Result<Arc<Plan>, PlanError> {
    let (own, outer) = (plan.parts(), outer_plan.parts());
    let limits = [&own.budget, &envelope.budget, &outer.budget];
    let budget = limits.into_iter().flatten().cloned().reduce(|budget, other| budget.stricter(&other));
    let max_parallel = own.policy.max_parallel.min(outer.policy.max_parallel);
    Plan::new(PlanParts {
        policy: PlanPolicy { max_parallel, ..own.policy.clone() },
        gates: outer.gates.clone(),
        escalations: outer.escalations.clone(),
        budget,
        ..own.clone()
    })
}
