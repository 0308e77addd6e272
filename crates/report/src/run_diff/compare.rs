use std::collections::HashMap;

use serde_json::{Value, json};

use super::{
    DifferingEntry, DifferingPart, RunDiff, RunPart, RunSubject, ValueDifference,
    difference::DURATION,
    facts::{RunFact, facts},
};
use wf_base::{digest::Sha256Digest, keyword::Keyword};
use wf_model::{JsonObject, Plan, definition};

/// The shortest change of a duration that is a difference, in milliseconds; below it, machines vary by themselves.
const MIN_DURATION_CHANGE: u64 = 1_000;

/// The share of the longer duration a change of a duration is at least: one tenth.
const DURATION_SHARE: u64 = 10;

/// Compares a run with another one.
pub fn run_diff(before: RunSubject<'_>, after: RunSubject<'_>) -> RunDiff {
    let parts = RunPart::ALL.iter().filter_map(|part| {
        let mut entries = differing(facts(before, *part), facts(after, *part));
        if let (RunPart::Plan, Some(old), Some(new)) = (part, before.plan, after.plan) {
            entries.extend(definitions(old, new));
        }
        (!entries.is_empty()).then_some(DifferingPart { part: *part, entries })
    });
    RunDiff::new([before.record, after.record], parts.collect())
}

/// Compares two lists, in the order of the second; what only the first has comes last.
fn differing(before: Vec<RunFact>, after: Vec<RunFact>) -> Vec<DifferingEntry> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut pairs: Vec<(String, JsonObject, JsonObject)> = Vec::new();
    for (name, values) in after {
        places.insert(name.clone(), pairs.len());
        pairs.push((name, JsonObject::new(), values));
    }
    for (name, values) in before {
        match places.get(&name).and_then(|at| pairs.get_mut(*at)) {
            Some((_, old, _)) => *old = values,
            None => pairs.push((name, values, JsonObject::new())),
        }
    }
    let entries =
        pairs.into_iter().map(|(name, old, new)| DifferingEntry { name, values: changes(&old, &new) });
    entries.filter(|entry| !entry.values.is_empty()).collect()
}

/// Compares the values of two things, in the order of the second.
fn changes(before: &JsonObject, after: &JsonObject) -> Vec<ValueDifference> {
    let gone = before.keys().filter(|field| !after.contains_key(*field));
    let fields = after.keys().chain(gone);
    let values = fields.map(|field| ValueDifference {
        field: field.clone(),
        before: before.get(field).cloned(),
        after: after.get(field).cloned(),
    });
    values.filter(|value| value.before != value.after && !is_noise(value)).collect()
}

/// True if a duration is another one by so little it means nothing.
fn is_noise(value: &ValueDifference) -> bool {
    let millis = |value: &Option<Value>| value.as_ref().and_then(Value::as_u64);
    let (DURATION, Some(before), Some(after)) =
        (value.field.as_str(), millis(&value.before), millis(&value.after))
    else {
        return false;
    };
    let change = before.abs_diff(after);
    change < MIN_DURATION_CHANGE || change < before.max(after) / DURATION_SHARE
}

/// Compares the definitions of the steps of two plans, and what is decided on the plan as a whole.
fn definitions(old_plan: &Plan, new_plan: &Plan) -> Vec<DifferingEntry> {
    let digest = |plan: &Plan, name: &str| {
        let step = plan.find(name).map(|ix| plan.step(ix))?;
        let text = definition::of_step(plan, step).to_string();
        Some(json!(Sha256Digest::of_bytes(text.as_bytes())))
    };
    let changed = new_plan.steps().iter().filter(|step| {
        definition::compare(old_plan, new_plan, step).is_none_or(|equality| !equality.whole_step)
    });
    let gone = old_plan.steps().iter().filter(|step| new_plan.find(step.id.as_str()).is_none());
    let steps = changed.chain(gone).map(|step| {
        let name = step.id.as_str();
        let definition = ValueDifference {
            field: "definition".into(),
            before: digest(old_plan, name),
            after: digest(new_plan, name),
        };
        DifferingEntry { name: format!("step {name}"), values: vec![definition] }
    });
    let mut entries: Vec<DifferingEntry> = steps.collect();
    if !definition::same_plan_meaning(old_plan, new_plan) {
        let digest = |plan: &Plan| {
            let whole = json!([plan.parts().verify, plan.parts().outputs]).to_string();
            Some(json!(Sha256Digest::of_bytes(whole.as_bytes())))
        };
        let whole =
            ValueDifference { field: "definition".into(), before: digest(old_plan), after: digest(new_plan) };
        entries.push(DifferingEntry { name: "criteria and outputs".into(), values: vec![whole] });
    }
    entries
}
