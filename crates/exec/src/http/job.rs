use std::time::Duration;

use serde_json::Value;

use wf_base::{exact_json, name::Name, redact::SecretMask};
use wf_core::machine::WorkExit;
use wf_model::{BoundedJsonPath, JsonObject, RequiredOutput};

use super::HttpRequest;
use crate::{log, step_files::outputs, work_error::WorkError};

/// A request and its limits.
#[derive(Debug)]
pub struct HttpJob {
    pub request: HttpRequest,
    /// The timeout for the request and its response.
    pub timeout: Option<Duration>,
    /// The log for the response body.
    pub log: log::LogTarget,
    /// The values the response must contain.
    pub outputs: Vec<RequiredOutput>,
}

/// The end of a request.
#[derive(Debug)]
pub struct HttpOutcome {
    pub exit: WorkExit,
    /// The outputs, if it succeeded.
    pub outputs: JsonObject,
    /// The time for which the server asked not to be called again.
    pub retry_after: Option<Duration>,
}

/// Reads the outputs of a request from the response body.
pub(super) fn read_outputs(
    paths: &[(Name, String)],
    required_outputs: &[RequiredOutput],
    body: &[u8],
    mask: &SecretMask,
) -> Result<JsonObject, WorkError> {
    let mut values = JsonObject::new();
    if !paths.is_empty() {
        let value: Value = exact_json::read_bytes(body)
            .map_err(|error| WorkError::logical(format!("the response is not JSON: {error}")))?;
        for (name, path) in paths {
            values.insert(name.to_string(), select(name.as_str(), path, &value)?);
        }
    }
    let values = outputs::check(values, required_outputs)
        .map_err(|problems| WorkError::logical(problems.join("; ")))?;
    let value = Value::Object(values.clone());
    let mut masked = value.clone();
    mask.value(&mut masked);
    if masked != value {
        return Err(WorkError::logical("an output contains a secret, but outputs are recorded and shown"));
    }
    Ok(values)
}

fn select(name: &str, path: &str, value: &Value) -> Result<Value, WorkError> {
    let bad = |reason: String| WorkError::logical(format!("output `{name}`: {reason}"));
    let parsed = BoundedJsonPath::parse(path).map_err(|error| bad(error.to_string()))?;
    match parsed.select(value).as_slice() {
        [one] => Ok((*one).clone()),
        found => {
            let count = found.len();
            Err(bad(format!("{path} selects {count} values of the response, expected one")))
        }
    }
}
