use serde_json::Value;

use super::GateContext;
use wf_model::{Gate, GateProvider, GateTrigger};

/// Returns the value a gate without a program examines: its extract of the context, else the subject of its
/// trigger (Silas 5.5.1). `None` if there is none; several values become a list.
pub fn subject(gate: &Gate, context: &GateContext) -> Option<Value> {
    match &gate.extract {
        Some(path) => {
            let whole = Value::Object(context.clone());
            let mut all: Vec<Value> = path.select(&whole).into_iter().cloned().collect();
            match all.len() {
                0 | 1 => all.pop(),
                _ => Some(Value::Array(all)),
            }
        }
        None => trigger_subject(gate.on, context),
    }
}

pub fn trigger_subject(trigger: GateTrigger, context: &GateContext) -> Option<Value> {
    context.get(key(trigger)).cloned()
}

/// Returns the key of a context that is the subject of a trigger.
fn key(trigger: GateTrigger) -> &'static str {
    match trigger {
        GateTrigger::OnInput | GateTrigger::OnModelCall => "message",
        GateTrigger::OnToolCall => "tool_args",
        GateTrigger::AfterStep
        | GateTrigger::OnOutput
        | GateTrigger::BeforePublish
        | GateTrigger::OnModelReply
        | GateTrigger::OnToolResult => "response",
        GateTrigger::BeforeRun | GateTrigger::BeforeStep => "params",
    }
}

/// Returns the places of the values a gate examines: JSON pointers into its context.
pub(super) fn places(gate: &Gate, whole: &Value) -> Vec<String> {
    match &gate.extract {
        Some(path) => path.pointers(whole),
        None => vec![format!("/{}", key(gate.on))],
    }
}

/// Returns the reason why an unavailable provider cannot be asked.
pub fn no_provider(provider: &GateProvider) -> String {
    format!("No provider: {}", provider.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{subject, trigger_subject};
    use crate::gate::{GateContext, tests::sample};
    use wf_model::{BoundedJsonPath, Gate, GateTrigger};

    fn context() -> GateContext {
        let Value::Object(context) = json!({
            "message": "hello", "tool_args": { "amount": 12, "to": ["a", "b"] }, "params": { "n": 1 },
        }) else {
            panic!("it is an object");
        };
        context
    }

    fn gate(trigger: GateTrigger, extract: Option<&str>) -> Gate {
        let extract = extract.map(|path| BoundedJsonPath::parse(path).unwrap());
        Gate { on: trigger, extract, ..sample::gate("it") }
    }

    #[test]
    fn a_gate_looks_at_what_its_trigger_is_about() {
        for (on, found) in [
            (GateTrigger::OnInput, Some(json!("hello"))),
            (GateTrigger::BeforeRun, Some(json!({ "n": 1 }))),
            (GateTrigger::OnOutput, None),
        ] {
            assert_eq!(subject(&gate(on, None), &context()), found);
            assert_eq!(trigger_subject(on, &context()), found);
        }
    }

    #[test]
    fn or_at_what_it_extracts() {
        for (path, found) in [
            ("$.tool_args.amount", Some(json!(12))),
            ("$.tool_args.to[*]", Some(json!(["a", "b"]))),
            ("$.nothing", None),
        ] {
            assert_eq!(subject(&gate(GateTrigger::OnInput, Some(path)), &context()), found);
        }
    }
}
