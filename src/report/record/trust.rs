use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::taint::{Mixed, Taint, taints};
use crate::model::{Plan, Work};

/// How far the values of a plan are trusted, for programs: its parameters, what each step is
/// given and makes, and what the plan gives.
pub fn trust(plan: &Plan) -> Value {
    let summary = taints(plan);
    let steps = summary.steps.iter().map(|(id, step)| {
        let taint = json!({
            "given": one(&step.given),
            "made": one(&step.made),
            "outputs": all(&step.outputs),
        });
        (id.clone(), taint)
    });
    json!({
        "params": all(&summary.params),
        "steps": steps.collect::<serde_json::Map<_, _>>(),
        "outputs": all(&summary.outputs),
    })
}

fn all(values: &BTreeMap<String, Mixed>) -> Value {
    let each = values
        .iter()
        .map(|(name, value)| (name.clone(), one(value)));
    each.collect::<serde_json::Map<_, _>>().into()
}

fn one(value: &Mixed) -> Value {
    json!({ "taint": value.taint, "from": value.from.as_deref() })
}

/// Why what a step gives is external, if it gives anything that is.
pub(super) fn untrusted_values(plan: &Plan, step: &str) -> Option<String> {
    let written = plan.step(plan.find(step)?);
    let is_process = matches!(written.work, Work::Run(_) | Work::Exec(_) | Work::Skill(_));
    if is_process && written.outputs.is_empty() && written.artifacts.is_empty() {
        return None;
    }
    let summary = taints(plan);
    let step = summary.steps.get(step)?;
    let given = Mixed::all(step.outputs.values().chain([&step.made]));
    let from = given.from.filter(|_| given.taint == Taint::External)?;
    Some(format!("what it gives is external: it comes from {from}"))
}

#[cfg(test)]
mod tests {
    use super::{trust, untrusted_values};
    use crate::report::consent::tests::sample;

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
        let from = "what it gives is external: it comes from the http step `get`";
        assert_eq!(untrusted_values(&plan, "use").as_deref(), Some(from));
        assert_eq!(untrusted_values(&plan, "own"), None);
        let free = untrusted_values(&plan, "free").unwrap();
        assert!(free.ends_with("step `free`, which runs without a sandbox, so with a network"));
        assert_eq!(untrusted_values(&plan, "bare"), None);
        let document = trust(&plan);
        assert_eq!(document["steps"]["use"]["made"]["taint"], "external");
        assert_eq!(document["steps"]["own"]["made"]["taint"], "owner");
    }
}
