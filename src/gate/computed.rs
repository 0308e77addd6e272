use serde_json::Value;

use super::guardrail::{find, guardrail};
use super::predicate::{FileFacts, clamped, predicate};
use super::subject::{places, subject};
use super::{ALLOWED_MUTATIONS, Action, Answer, Context};
use crate::model::{Gate, Guardrail, Object, Predicate, Provider};

/// What a gate says whose answer needs no program and no model; `None` for any other. What is
/// rewritten stands where it stood, in the keys of the context that a gate may rewrite; what must be
/// rewritten and may not be is blocked.
pub fn computed(gate: &Gate, context: &Context, files: &dyn FileFacts) -> Option<Answer> {
    let whole = Value::Object(context.clone());
    match &gate.provider {
        Provider::Predicate(rule) => Some(by_rule(gate, rule, &whole, files)),
        Provider::Guardrail(guardrail) => Some(by_detectors(gate, guardrail, &whole)),
        Provider::Script(_) | Provider::Llm(_) => None,
    }
}

fn by_rule(gate: &Gate, rule: &Predicate, whole: &Value, files: &dyn FileFacts) -> Answer {
    let value = match whole {
        Value::Object(context) => subject(gate, context),
        _ => None,
    };
    let mut answer = predicate(rule, value.as_ref(), files);
    if let (Some(place), Some(value)) = (places(gate, whole).first(), &value)
        && let Some(moved) = clamped(rule, value)
    {
        answer.modified = match replaced(whole, &[(place.clone(), moved)]) {
            Ok(modified) => modified,
            Err(key) => {
                return Answer {
                    flags: answer.flags,
                    ..Answer::block(format!(
                        "The number is in `{key}`, which no gate may rewrite"
                    ))
                };
            }
        };
    }
    answer
}

fn by_detectors(gate: &Gate, rule: &Guardrail, whole: &Value) -> Answer {
    let mut all = Answer::pass();
    let mut instead = Vec::new();
    for place in places(gate, whole) {
        let Some(value) = whole.pointer(&place) else {
            continue;
        };
        let mut name = place.trim_start_matches('/').replace('/', ".");
        if !find(&rule.detect, &name).is_empty() {
            // What stands in a key is not told either.
            name = name.split('.').next().unwrap_or_default().to_owned();
        }
        let guarded = guardrail(rule, value, &name);
        if guarded.answer.action > all.action {
            all.action = guarded.answer.action;
            all.reason = guarded.answer.reason;
        }
        all.flags.extend(guarded.answer.flags);
        instead.extend(guarded.instead.map(|value| (place, value)));
    }
    if all.action == Action::Continue {
        match replaced(whole, &instead) {
            Ok(modified) => all.modified = modified,
            Err(key) => {
                all.action = Action::Block;
                let found = all.flags.join("; ");
                all.reason = format!("Found {found}, in `{key}`, which no gate may rewrite");
            }
        }
    }
    all
}

/// The keys of a context with values replaced in them; or the key in which nothing may be.
fn replaced(whole: &Value, instead: &[(String, Value)]) -> Result<Object, String> {
    let mut new = whole.clone();
    let mut keys = Vec::new();
    for (place, value) in instead {
        let key = place.split('/').nth(1).unwrap_or_default().to_owned();
        if !ALLOWED_MUTATIONS.contains(&key.as_str()) {
            return Err(key);
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
