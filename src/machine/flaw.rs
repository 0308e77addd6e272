use super::Verdict;
use crate::model::{Object, Step, Work};
use crate::name::Name;

/// What is wrong with the outputs of a successful attempt, if anything. The outputs of a nested
/// plan were checked against its own declarations.
pub(super) fn bad_outputs(step: &Step, outputs: &Object) -> Option<String> {
    if matches!(step.work, Work::Uses(_)) {
        return None;
    }
    step.outputs
        .iter()
        .find_map(|output| match outputs.get(output.name.as_str()) {
            None => Some(format!("output `{}` was not given", output.name)),
            Some(value) => {
                let mistake = output.schema.mistake(value)?;
                Some(format!("output `{}`: {mistake}", output.name))
            }
        })
}

/// One line that says what a verdict found.
pub(super) fn refutation(verdict: &Verdict) -> String {
    let Verdict {
        name,
        expected,
        found,
        ..
    } = verdict;
    told(name, expected, found)
}

/// One line that says what a criterion found.
pub(super) fn told(name: &Name, expected: &str, found: &str) -> String {
    match (expected.is_empty(), found.is_empty()) {
        (true, true) => format!("check `{name}` did not pass"),
        (true, false) => format!("check `{name}`: {found}"),
        _ => format!("check `{name}`: expected {expected}, found {found}"),
    }
}
