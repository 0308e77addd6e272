use serde_json::Value;

use super::Context;
use crate::model::{Gate, Object, Provider, Trigger};

/// What a gate that is no program looks at: what it extracts of the context, else what its trigger
/// is about (Silas 5.5.1). `None` if there is no such thing; several values become a list.
pub fn subject(gate: &Gate, context: &Context) -> Option<Value> {
    match &gate.extract {
        Some(path) => {
            let whole = Value::Object(context.clone());
            let mut all: Vec<Value> = path.select(&whole).into_iter().cloned().collect();
            match all.len() {
                0 | 1 => all.pop(),
                _ => Some(Value::Array(all)),
            }
        }
        None => about(gate.on, context),
    }
}

/// What a trigger is about.
pub fn about(on: Trigger, context: &Context) -> Option<Value> {
    context.get(key(on)).cloned()
}

/// The key of a context that a trigger is about.
fn key(on: Trigger) -> &'static str {
    match on {
        Trigger::OnInput => "message",
        Trigger::OnToolCall => "tool_args",
        Trigger::AfterStep | Trigger::OnOutput | Trigger::BeforePublish => "response",
        Trigger::BeforeRun | Trigger::BeforeStep => "params",
    }
}

/// What is to be rewritten so that the one value that a gate looks at becomes another: the member
/// of the context that it is in, as a whole. Empty if it looks at none, or at several.
pub fn replaced(gate: &Gate, context: &Context, value: Value) -> Object {
    let pointer = match &gate.extract {
        None => format!("/{}", key(gate.on)),
        Some(path) => {
            let mut found = path.pointers(&Value::Object(context.clone()));
            match (found.pop(), found.is_empty()) {
                (Some(one), true) => one,
                _ => return Object::new(),
            }
        }
    };
    let mut whole = Value::Object(context.clone());
    if let Some(place) = whole.pointer_mut(&pointer) {
        *place = value;
    }
    let top = pointer.split('/').nth(1).unwrap_or_default();
    let name = top.replace("~1", "/").replace("~0", "~");
    let member = whole.get(&name).cloned();
    member.map(|member| (name, member)).into_iter().collect()
}

/// Why a provider that nobody has made available cannot be asked.
pub fn no_provider(provider: &Provider) -> String {
    format!("No provider: {}", provider.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{about, replaced, subject};
    use crate::gate::{Context, sample};
    use crate::model::{Gate, JsonPath, Trigger};

    fn context() -> Context {
        let Value::Object(context) = json!({
            "message": "hello", "tool_args": { "amount": 12, "to": ["a", "b"] }, "params": { "n": 1 },
        }) else {
            panic!("it is an object");
        };
        context
    }

    fn gate(on: Trigger, extract: Option<&str>) -> Gate {
        let extract = extract.map(|path| JsonPath::parse(path).unwrap());
        Gate {
            on,
            extract,
            ..sample::gate("it")
        }
    }

    #[test]
    fn a_gate_looks_at_what_its_trigger_is_about() {
        for (on, found) in [
            (Trigger::OnInput, Some(json!("hello"))),
            (Trigger::BeforeRun, Some(json!({ "n": 1 }))),
            (Trigger::OnOutput, None),
        ] {
            assert_eq!(subject(&gate(on, None), &context()), found);
            assert_eq!(about(on, &context()), found);
        }
    }

    #[test]
    fn or_at_what_it_extracts() {
        for (path, found) in [
            ("$.tool_args.amount", Some(json!(12))),
            ("$.tool_args.to[*]", Some(json!(["a", "b"]))),
            ("$.nothing", None),
        ] {
            assert_eq!(
                subject(&gate(Trigger::OnInput, Some(path)), &context()),
                found
            );
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_is() {
        for (path, expected) in [
            (None, json!({ "message": 7 })),
            (
                Some("$.tool_args.amount"),
                json!({ "tool_args": { "amount": 7, "to": ["a", "b"] } }),
            ),
            (
                Some("$.tool_args.to[1]"),
                json!({ "tool_args": { "amount": 12, "to": ["a", 7] } }),
            ),
            (Some("$.tool_args.to[*]"), json!({})),
            (Some("$.nothing"), json!({})),
        ] {
            let found = replaced(&gate(Trigger::OnInput, path), &context(), json!(7));
            assert_eq!(Value::Object(found), expected, "{path:?}");
        }
    }
}
