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
fn about(on: Trigger, context: &Context) -> Option<Value> {
    let key = match on {
        Trigger::OnInput => "message",
        Trigger::OnToolCall => "tool_args",
        Trigger::AfterStep | Trigger::OnOutput | Trigger::BeforePublish => "response",
        Trigger::BeforeRun | Trigger::BeforeStep => "params",
    };
    context.get(key).cloned()
}

/// Why a provider that nobody has made available cannot be asked.
pub fn no_provider(provider: &Provider) -> String {
    format!("No provider: {}", provider.as_str())
}
