use std::time::Duration;

use serde_json::Value;

use super::Ask;
use crate::exec::{Unable, log, outputs};
use crate::mask::Mask;
use crate::model::{JsonPath, Object, Output};
use crate::name::Name;

/// A request and its limits.
#[derive(Debug)]
pub struct Job {
    /// The request.
    pub ask: Ask,
    /// The longest it may take, with its answer.
    pub timeout: Option<Duration>,
    /// Where the answer's body is kept.
    pub log: log::Target,
    /// The values that the answer must give.
    pub outputs: Vec<Output>,
}

/// Reads the outputs of a request from the body of its answer.
pub(super) fn read(
    paths: &[(Name, String)],
    declared: &[Output],
    body: &[u8],
    mask: &Mask,
) -> Result<Object, Unable> {
    let mut given = Object::new();
    if !paths.is_empty() {
        let value: Value = serde_json::from_slice(body)
            .map_err(|error| Unable::logical(format!("the answer is not JSON: {error}")))?;
        for (name, path) in paths {
            given.insert(name.to_string(), select(name.as_str(), path, &value)?);
        }
    }
    let given =
        outputs::check(given, declared).map_err(|problems| Unable::logical(problems.join("; ")))?;
    let value = Value::Object(given.clone());
    let mut masked = value.clone();
    mask.value(&mut masked);
    if masked != value {
        return Err(Unable::logical(
            "an output contains a secret; outputs are recorded and shown",
        ));
    }
    Ok(given)
}

fn select(name: &str, path: &str, value: &Value) -> Result<Value, Unable> {
    let bad = |why: String| Unable::logical(format!("output `{name}`: {why}"));
    let parsed = JsonPath::parse(path).map_err(|error| bad(error.to_string()))?;
    match parsed.select(value).as_slice() {
        [one] => Ok((*one).clone()),
        found => {
            let count = found.len();
            Err(bad(format!(
                "{path} selects {count} values of the answer, not one"
            )))
        }
    }
}
