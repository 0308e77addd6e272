use serde_json::{Map, Value};
use wf_base::duration_text::without_durations;
use wf_core::machine::forget_round_time;

/// A function returning the digest of the comparable part of a body; `None` if there is no such body.
pub type BodyDigest<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// The keys of every event missing in a replay, or dependent on its place.
const VARIABLE: [&str; 12] = [
    "v",
    "run",
    "at",
    "duration_ms",
    "due",
    "since",
    "expires",
    "tokens",
    "logic_version",
    "breakers",
    "asked",
    "log",
];

/// The keys of a verdict and of the result of a gate a replay cannot have.
const VARIABLE_INSIDE: [&str; 7] =
    ["duration_ms", "isolation", "hidden", "changes", "changed_inputs", "foreign_changes", "asked"];

/// The keys whose values are digests of bodies.
const BODIES: [&str; 3] = ["request", "reply", "result"];

/// Returns the part of an event a replay must repeat. `None` if it tells of nothing but the time or the place.
pub fn comparable_event(event: &Value, digest: &BodyDigest<'_>) -> Option<Value> {
    let mut fields = event.as_object()?.clone();
    let kind = fields.get("event")?.as_str()?.to_owned();
    match kind.as_str() {
        // The files as they lie there, with those of others; and who signed, for how long.
        "baseline_taken" | "run_approved" => return None,
        "budget_extended" | "budget_threshold_reached" | "budget_exhausted" if is_about_time(&fields) => {
            return None;
        }
        "agent_briefed" => {
            // The estimate depends on the length of the workspace's path.
            if let Some(limits) = fields.get_mut("limits").and_then(Value::as_object_mut) {
                limits.remove("first_input");
            }
        }
        _ => {}
    }
    fields.retain(|key, value| !VARIABLE.contains(&key.as_str()) && *value != Value::Array(Vec::new()));
    for key in ["verdict", "result"] {
        if let Some(inner) = fields.get_mut(key).and_then(Value::as_object_mut) {
            inner.retain(|key, _| !VARIABLE_INSIDE.contains(&key.as_str()));
            // A call that was asked anew would have found no reply; the rest of it is times and digests.
            if let Some(judged) = inner.get_mut("judgement").and_then(Value::as_object_mut) {
                judged.remove("asked");
                // The requests have it, and these are compared.
                judged.remove("shown");
            }
        }
    }
    for key in BODIES {
        let digest_of_text = fields.get(key).and_then(Value::as_str).and_then(digest);
        if let Some(known_digest) = digest_of_text {
            fields.insert(key.into(), Value::String(known_digest));
        }
    }
    let mut event = Value::Object(fields);
    if kind == "round_completed" {
        forget_round_time(&mut event);
    }
    steady(&mut event);
    Some(event)
}

/// True if an event of a budget is about time.
fn is_about_time(fields: &Map<String, Value>) -> bool {
    fields.get("resource").is_none_or(|resource| resource == "wall_time")
}

/// Removes durations from all texts: programs print them.
fn steady(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_durations(text),
        Value::Array(items) => items.iter_mut().for_each(steady),
        Value::Object(fields) => fields.values_mut().for_each(steady),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::comparable_event;
    use serde_json::{Value, json};

    fn comparable(event: &Value) -> Option<Value> {
        comparable_event(event, &|digest| (digest == "known").then(|| "same".to_owned()))
    }

    #[test]
    fn what_a_round_owes_to_its_duration_is_left_out_and_what_it_decides_is_not() {
        let round = |omega: f64, directive: &str| {
            json!({"event": "round_completed", "round": 1, "loss": {"d": 0.5, "p": 1.0, "omega": omega, "l": omega},
                   "gradient": omega, "directive": directive, "rationale": format!("Ω {omega}")})
        };
        assert_eq!(comparable(&round(0.1, "refine")), comparable(&round(0.2, "refine")));
        assert_ne!(comparable(&round(0.1, "refine")), comparable(&round(0.1, "abandon")));
    }

    #[test]
    fn times_ids_and_durations_are_left_out() {
        let event = json!({
            "v": 1, "run": "ab", "parents": [], "at": "2026-11-21T08:00:00.000Z", "event": "check_completed",
            "step": "fix", "attempt": 2,
            "verdict": {"name": "works", "ruling": "fail", "duration_ms": 7, "isolation": ["files"], "hidden": ["new"],
                        "evidence": "Ran 2 tests in 0.013s"},
        });
        let expected = json!({
            "event": "check_completed", "step": "fix", "attempt": 2,
            "verdict": {"name": "works", "ruling": "fail", "evidence": "Ran 2 tests in 0s"},
        });
        assert_eq!(comparable(&event), Some(expected));
    }

    #[test]
    fn events_about_time_and_place_are_not_compared() {
        assert_eq!(comparable(&json!({"event": "baseline_taken", "entries": 3})), None);
        assert_eq!(comparable(&json!({"event": "run_approved", "token": "t"})), None);
        assert_eq!(comparable(&json!({"event": "budget_extended", "limit_ms": 3})), None);
        for (resource, is_compared) in [("wall_time", false), ("attempts", true)] {
            let event = json!({"event": "budget_threshold_reached", "resource": resource, "percent": 80});
            assert_eq!(comparable(&event).is_some(), is_compared, "{resource}");
        }
        assert_eq!(comparable(&json!("no event")), None);
    }

    #[test]
    fn bodies_are_compared_by_what_they_say() {
        let event = |result: &str| json!({"event": "tool_call_ended", "result": result, "tokens": 9});
        assert_eq!(comparable(&event("known")), Some(json!({"event": "tool_call_ended", "result": "same"})));
        assert_eq!(comparable(&event("lost")), Some(json!({"event": "tool_call_ended", "result": "lost"})));
    }
}
