use super::CheckVerdict;
use wf_base::name::Name;
use wf_model::{JsonObject, Step, StepWork};

/// Returns the problem with the outputs of a successful attempt, if any. The outputs of a nested
/// plan were checked against its own declarations.
pub(super) fn bad_outputs(step: &Step, outputs: &JsonObject) -> Option<String> {
    if matches!(step.work, StepWork::Uses(_)) {
        return None;
    }
    step.outputs.iter().find_map(|output| match outputs.get(output.name.as_str()) {
        None => Some(format!("output `{}` is missing", output.name)),
        Some(value) => {
            let mistake = output.schema.first_mistake(value)?;
            Some(format!("output `{}`: {mistake}", output.name))
        }
    })
}

/// Formats the finding of a verdict in one line.
pub(super) fn refutation(verdict: &CheckVerdict) -> String {
    let CheckVerdict { name, expected, found, .. } = verdict;
    format_mismatch(name, expected, found)
}

/// Formats the finding of a criterion in one line.
pub(super) fn format_mismatch(name: &Name, expected: &str, found: &str) -> String {
    match (expected.is_empty(), found.is_empty()) {
        (true, true) => format!("check `{name}` failed"),
        (true, false) => format!("check `{name}`: {found}"),
        _ => format!("check `{name}`: expected {expected}, found {found}"),
    }
}
