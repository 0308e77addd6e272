use std::collections::BTreeMap;

use serde_json::{Value, json};

use wf_model::{
    Plan, StepWork,
    taint::{MixedTaint, TaintLevel, taints},
};

/// The trust in the values of a plan, as JSON: its parameters, the inputs and outputs of each step,
/// and the outputs of the plan.
pub fn trust(plan: &Plan) -> Value {
    let summary = taints(plan);
    let steps = summary.steps.iter().map(|(id, step)| {
        let taint = json!({
            "given": value_trust(&step.inputs_taint),
            "made": value_trust(&step.outputs_taint),
            "outputs": value_trusts(&step.outputs),
        });
        (id.clone(), taint)
    });
    json!({
        "params": value_trusts(&summary.params),
        "steps": steps.collect::<serde_json::Map<_, _>>(),
        "outputs": value_trusts(&summary.outputs),
    })
}

fn value_trusts(values: &BTreeMap<String, MixedTaint>) -> Value {
    let each = values.iter().map(|(name, value)| (name.clone(), value_trust(value)));
    each.collect::<serde_json::Map<_, _>>().into()
}

fn value_trust(taint: &MixedTaint) -> Value {
    json!({ "taint": taint.taint, "from": taint.from.as_deref() })
}

/// The reason why the outputs of a step are external, if any are.
pub(super) fn untrusted_values(plan: &Plan, step: &str) -> Option<String> {
    let written = plan.step(plan.find(step)?);
    let is_process = matches!(
        written.work,
        StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Agent(_)
    );
    if is_process && written.outputs.is_empty() && written.artifacts.is_empty() {
        return None;
    }
    let summary = taints(plan);
    let step = summary.steps.get(step)?;
    let taint = MixedTaint::mix_all(step.outputs.values().chain([&step.outputs_taint]));
    let from = taint.from.filter(|_| taint.taint == TaintLevel::External)?;
    Some(format!("its outputs are external: they come from {from}"))
}

#[cfg(test)]
mod tests {
    use super::{trust, untrusted_values};
    use crate::consent::tests::sample;

    #[test]
    fn what_a_step_gives_is_explained() {
        let text = "---\nkind: plan\nid: p\nsteps:\n  \
            - {id: get, http: {url: 'https://x.example/', outputs: {n: $.n}}, \
            outputs: {n: {type: string}}}\n  \
            - {id: use, depends_on: [get], exec: [x, \"{{ steps.get.outputs.n }}\"], artifacts: [a]}\n  \
            - {id: own, exec: [x], allow: {}, artifacts: [b]}\n  \
            - {id: free, exec: [x], artifacts: [c]}\n  \
            - {id: bare, exec: [x]}\n---\n";
        let plan = sample::plan(text);
        let from = "its outputs are external: they come from the http step `get`";
        assert_eq!(untrusted_values(&plan, "use").as_deref(), Some(from));
        assert_eq!(untrusted_values(&plan, "own"), None);
        let free = untrusted_values(&plan, "free").unwrap();
        assert!(free.ends_with("step `free`, which runs without a sandbox, and so with network access"));
        assert_eq!(untrusted_values(&plan, "bare"), None);
        let document = trust(&plan);
        assert_eq!(document["steps"]["use"]["made"]["taint"], "external");
        assert_eq!(document["steps"]["own"]["made"]["taint"], "owner");
    }
}
