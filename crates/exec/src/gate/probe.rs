use serde_json::Value;

use wf_base::{name::Name, redact::SecretMask};
use wf_core::gate::{GateContext, trigger_subject};
use wf_model::{Check, Gate, GateProvider, GateScript};

use crate::work_error::WorkError;

/// The longest variable a process can be given, in bytes, minus room for its name: Linux takes 128 KiB.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 64;

/// Returns the program of a gate as a check: the same sandbox, the same view, and the same pinning
/// of files. `None` if the gate runs no program.
pub fn as_check(gate: &Gate) -> Option<Check> {
    let GateProvider::Script(script) = &gate.provider else {
        return None;
    };
    Some(of_script(gate, script))
}

pub(super) fn of_script(gate: &Gate, script: &GateScript) -> Check {
    Check {
        probe: Some(script.probe.clone()),
        expect: script.expect.clone(),
        env: script.env.clone(),
        cwd: script.cwd.clone(),
        timeout: script.timeout,
        ..Check::new(name(gate))
    }
}

/// Converts the id of a gate into the name of a check, which has no hyphens and begins with a letter.
fn name(gate: &Gate) -> Name {
    let words = gate.id.as_str().replace('-', "_");
    let name = Name::parse(&words).or_else(|_| Name::parse(&format!("gate_{words}")));
    name.unwrap_or_else(|_| Name::parse("gate").expect("this is a name"))
}

/// Returns the variables passing the context of a gate to its program.
pub(super) fn variables(
    gate: &Gate,
    context: &GateContext,
    mask: &SecretMask,
) -> Result<Vec<(String, String)>, WorkError> {
    let mut hidden = Value::Object(context.clone());
    mask.value(&mut hidden);
    let value = hidden.as_object().and_then(|context| trigger_subject(gate.on, context));
    let value = match value {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    };
    let variables = vec![
        ("WF_GATE".to_owned(), gate.id.to_string()),
        ("WF_GATE_TRIGGER".to_owned(), gate.on.as_str().to_owned()),
        ("WF_GATE_VALUE".to_owned(), value),
        ("WF_GATE_CONTEXT".to_owned(), hidden.to_string()),
    ];
    let unfit = variables.iter().find(|(_, value)| value.len() > MAX_ARGUMENT_BYTES);
    if let Some((name, value)) = unfit {
        let size = value.len();
        return Err(WorkError::logical(format!(
            "{name} would have {size} bytes, but a program accepts at most {MAX_ARGUMENT_BYTES}"
        )));
    }
    if variables.iter().any(|(_, value)| value.contains('\0')) {
        return Err(WorkError::logical("its input contains a NUL byte, which a variable cannot hold"));
    }
    Ok(variables)
}
