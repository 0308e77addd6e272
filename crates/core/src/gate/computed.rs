use serde_json::Value;

use super::{
    ALLOWED_MUTATIONS, GateAction, GateAnswer, GateContext,
    guardrail::{apply_guardrail, find},
    predicate::{FileInspector, clamped, judge_predicate},
    subject::{places, subject},
};
use wf_model::{Gate, GatePredicate, GateProvider, GateTrigger, Guardrail, JsonObject};

/// Returns the answer of a gate needing no program and no model; `None` for any other gate. Rewritten values
/// keep their place, in the keys of the context a gate may rewrite; a value that must be rewritten and may
/// not be is blocked.
pub fn computed_answer(gate: &Gate, context: &GateContext, files: &dyn FileInspector) -> Option<GateAnswer> {
    let whole = Value::Object(context.clone());
    match &gate.provider {
        GateProvider::Predicate(predicate) => Some(by_predicate(gate, predicate, &whole, files)),
        GateProvider::Guardrail(guardrail) => Some(by_detectors(gate, guardrail, &whole)),
        GateProvider::Script(_) | GateProvider::Llm(_) => None,
    }
}

fn by_predicate(
    gate: &Gate,
    predicate: &GatePredicate,
    whole: &Value,
    files: &dyn FileInspector,
) -> GateAnswer {
    let value = match whole {
        Value::Object(context) => subject(gate, context),
        _ => None,
    };
    let mut answer = judge_predicate(predicate, value.as_ref(), files);
    if let (Some(place), Some(value)) = (places(gate, whole).first(), &value)
        && let Some(moved) = clamped(predicate, value)
    {
        answer.modified = match replace_values(whole, &[(rewritten_place(gate, whole, place), moved)]) {
            Ok(modified) => modified,
            Err(key) => {
                return GateAnswer {
                    flags: answer.flags,
                    ..GateAnswer::block(format!("The number is in {key}"))
                };
            }
        };
    }
    answer
}

/// Returns the place in which a value is rewritten: at the start of a run, the parameters are its message, and are rewritten
/// as that.
fn rewritten_place(gate: &Gate, whole: &Value, place: &str) -> String {
    let is_start = matches!(gate.on, GateTrigger::BeforeRun | GateTrigger::OnInput);
    let below = place.strip_prefix("/params").filter(|below| is_start && below.starts_with('/'));
    let message = below.map(|below| format!("/message{below}"));
    message
        .filter(|message| whole.pointer(message) == whole.pointer(place))
        .unwrap_or_else(|| place.to_owned())
}

fn by_detectors(gate: &Gate, guardrail: &Guardrail, whole: &Value) -> GateAnswer {
    let mut all = GateAnswer::pass();
    let mut instead = Vec::new();
    for place in places(gate, whole) {
        let Some(value) = whole.pointer(&place) else {
            continue;
        };
        let mut name = place.trim_start_matches('/').replace('/', ".");
        if !find(&guardrail.detect, &name).is_empty() {
            // A finding in the name itself is not reported either.
            name = name.split('.').next().unwrap_or_default().to_owned();
        }
        let guarded = apply_guardrail(guardrail, value, &name);
        if guarded.answer.action > all.action {
            all.action = guarded.answer.action;
            all.reason = guarded.answer.reason;
        }
        all.flags.extend(guarded.answer.flags);
        instead.extend(guarded.replacement.map(|value| (place, value)));
    }
    if all.action == GateAction::Continue {
        match replace_values(whole, &instead) {
            Ok(modified) => all.modified = modified,
            Err(key) => {
                all.action = GateAction::Block;
                let found = all.flags.join("; ");
                all.reason = format!("Found {found}, in {key}");
            }
        }
    }
    all
}

/// A key of a context in which no value is replaced.
#[derive(Debug, thiserror::Error)]
#[error("`{0}`, which gates must not modify")]
struct UnmodifiableKey(String);

/// Returns the keys of a context with values replaced in them.
fn replace_values(whole: &Value, instead: &[(String, Value)]) -> Result<JsonObject, UnmodifiableKey> {
    let mut new = whole.clone();
    let mut keys = Vec::new();
    for (place, value) in instead {
        let key = place.split('/').nth(1).unwrap_or_default().to_owned();
        if !ALLOWED_MUTATIONS.contains(&key.as_str()) {
            return Err(UnmodifiableKey(key));
        }
        if let Some(old) = new.pointer_mut(place) {
            *old = value.clone();
        }
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let value = |key: String| Some((key.clone(), new.get(&key)?.clone()));
    Ok(keys.into_iter().filter_map(value).collect())
}
