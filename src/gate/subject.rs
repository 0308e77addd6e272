use serde_json::Value;

use super::Context;
use crate::model::{Gate, Provider, Trigger};

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

/// Where the values are that a gate looks at: JSON pointers into its context.
pub(super) fn places(gate: &Gate, whole: &Value) -> Vec<String> {
    match &gate.extract {
        Some(path) => path.pointers(whole),
        None => vec![format!("/{}", key(gate.on))],
    }
}

/// Why a provider that nobody has made available cannot be asked.
pub fn no_provider(provider: &Provider) -> String {
    format!("No provider: {}", provider.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{about, subject};
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
}
