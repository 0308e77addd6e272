use super::EnvelopeBreach;
use wf_model::{GeneratedPlan, Plan, Step};

/// Returns a breach for each output a step declares and a plan does not have.
pub fn missing_outputs(step: &Step, plan: &Plan) -> impl Iterator<Item = EnvelopeBreach> {
    let outputs = step.outputs.iter().map(|output| &output.name);
    let missing = outputs.filter(|name| plan.parts().outputs.iter().all(|output| output.name != **name));
    missing.map(|name| EnvelopeBreach::of_plan(format!("it has no output `{name}`, which the step declares")))
}

/// Returns a breach for each parameter a plan requires and its step does not set, and for each the step sets and the
/// plan does not have. The values are known in the run alone.
pub fn misfit_params(generated: &GeneratedPlan, plan: &Plan) -> Vec<EnvelopeBreach> {
    let params = &plan.parts().params;
    let is_set = |name| generated.with.iter().any(|(set, _)| set == name);
    let required = params.iter().filter(|param| param.default.is_none() && !is_set(&param.name));
    let required = required
        .map(|param| format!("it requires the parameter `{}`, which the step does not set", param.name));
    let unknown = generated.with.iter().filter(|(name, _)| params.iter().all(|param| param.name != *name));
    let unknown =
        unknown.map(|(name, _)| format!("it has no parameter `{name}`, which the step sets in `with`"));
    required.chain(unknown).map(EnvelopeBreach::of_plan).collect()
}
