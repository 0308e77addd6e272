//! Cache keys: everything the result of a step depends on.

use std::{fs::File, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::{Value, json};

use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_model::{JsonObject, RequiredOutput, ResourceLimits, SandboxPermissions};

use super::files;
use crate::{ProcessEnv, work_error::WorkError};

/// The maximum number of differences reported.
const MAX_DIFFERENCES: usize = 50;

/// The sections of a key's parts reported name by name, and their labels.
const SECTIONS: [(&str, &str); 5] =
    [("work", "command"), ("params", "param"), ("env", "env"), ("inputs", "input"), ("outputs", "output")];

/// The parts reported as a whole, and their labels.
const WHOLE_PARTS: [(&str, &str); 7] = [
    ("values", "values of templates"),
    ("cwd", "cwd"),
    ("sandbox", "allow and limits"),
    ("item", "item"),
    ("files", "cached files"),
    ("empty", "input globs without files"),
    ("platform", "platform"),
];

/// The inputs of a result other than files.
#[derive(Clone, Debug)]
pub struct CacheInputs<'a> {
    /// The definition of the work.
    pub work: JsonObject,
    /// The values of the templates in the work.
    pub values: Vec<String>,
    /// The working directory, relative to the workspace.
    pub cwd: &'a str,
    /// The grants and limits of the step, if it runs in a sandbox.
    pub sandbox: Option<(&'a SandboxPermissions, &'a ResourceLimits)>,
    /// The variables the plan and the step declare.
    pub env: ProcessEnv,
    /// The plan's parameters.
    pub params: &'a JsonObject,
    /// The value of the item, if the step is repeated.
    pub item: Option<&'a Value>,
    /// The declared outputs.
    pub outputs: &'a [RequiredOutput],
    /// The globs of the files restored on reuse.
    pub files: &'a [String],
}

/// Returns the key of a result and its parts, for [`differences`]. Reads every match of `inputs`. Secrets are masked in
/// the parts, so a key does not depend on their values.
pub fn key(
    key_inputs: &CacheInputs<'_>,
    root: &Path,
    inputs: &[String],
    mask: &SecretMask,
) -> Result<(Sha256Digest, Value), WorkError> {
    let (digests, empty) = self::inputs(root, inputs)?;
    let env: JsonObject = key_inputs.env.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let outputs: JsonObject = key_inputs
        .outputs
        .iter()
        .map(|output| (output.name.to_string(), output.schema.text().clone()))
        .collect();
    let mut parts = json!({
        "work": key_inputs.work,
        "values": key_inputs.values,
        "cwd": key_inputs.cwd,
        "env": env,
        "params": key_inputs.params,
        "item": key_inputs.item,
        "outputs": outputs,
        "files": key_inputs.files,
        "inputs": digests,
        "globs": inputs,
        "empty": empty,
        "platform": format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    if let (Some(sandbox), Value::Object(parts)) = (key_inputs.sandbox, &mut parts) {
        parts.insert("sandbox".into(), json!(sandbox));
    }
    mask.value(&mut parts);
    Ok((cache_key(&parts), parts))
}

/// The name in the parts under which the reason for a cache miss is noted. It is not part of the
/// key.
const MISS_REASON_KEY: &str = "refused";

pub fn cache_key(parts: &Value) -> Sha256Digest {
    let mut parts = parts.clone();
    if let Value::Object(parts) = &mut parts {
        parts.remove(MISS_REASON_KEY);
        // The files that they match count, not how they are written.
        parts.remove("globs");
    }
    Sha256Digest::of_bytes(sorted(&parts).to_string().as_bytes())
}

/// Returns the parts with a note of the reason for a cache miss, if there is one.
pub fn with_miss_reason(mut parts: Value, reason: Option<&str>) -> Value {
    if let (Some(reason), Value::Object(parts)) = (reason, &mut parts) {
        parts.insert(MISS_REASON_KEY.to_owned(), json!(reason));
    }
    parts
}

/// Returns the noted reason.
pub fn miss_reason(parts: &Value) -> Option<&str> {
    parts.get(MISS_REASON_KEY).and_then(Value::as_str)
}

/// The mark behind the digest of a file that may be executed.
const EXECUTABLE: &str = " executable";

/// Returns the digest of an input, from the parts of a key.
pub fn digest_of_input(input: &Value) -> Option<&str> {
    input.as_str().map(|input| input.trim_end_matches(EXECUTABLE))
}

/// Returns the digests of the files that globs match, by path, with their mode as far as it counts, and the globs
/// matching none.
fn inputs(root: &Path, globs: &[String]) -> Result<(JsonObject, Vec<String>), WorkError> {
    let (files, empty) = files::matching(root, globs)?;
    let mut digests = JsonObject::new();
    for (path, file) in files {
        let (digest, mode) = File::open(file)
            .and_then(|file| Ok((Sha256Digest::of_reader(&file)?, file.metadata()?.permissions().mode())))
            .map_err(|error| WorkError::environmental(format!("cannot read `{path}`: {error}")))?;
        // As git does: other bits depend on who made the file.
        let executable = if mode & 0o100 != 0 { EXECUTABLE } else { "" };
        digests.insert(path, json!(format!("{digest}{executable}")));
    }
    Ok((digests, empty))
}

/// Describes the first difference between the input files in a key's parts and those its globs match now. Files the
/// work itself left (`own`) do not count.
pub fn input_changed(root: &Path, parts: &Value, own: impl Fn(&str, &Value) -> bool) -> Option<String> {
    let globs = parts.get("globs").cloned().map(serde_json::from_value::<Vec<String>>);
    let globs = globs.and_then(Result::ok).unwrap_or_default();
    let now = match inputs(root, &globs) {
        Ok((now, _)) => now,
        Err(unable) => return Some(unable.reason),
    };
    let none = JsonObject::new();
    let then = parts.get("inputs").and_then(Value::as_object);
    let then = then.unwrap_or(&none);
    let differs = |path: &str, change: &str| Some(format!("its input `{path}` {change}"));
    for (path, was) in then {
        match now.get(path) {
            None => return differs(path, "is missing"),
            Some(is) if is != was && !own(path, is) => return differs(path, "changed since"),
            Some(_) => {}
        }
    }
    let new = now.iter().find(|(path, is)| !then.contains_key(*path) && !own(path, is));
    new.and_then(|(path, _)| differs(path, "is new"))
}

/// Returns the changes between two keys' parts in human words, one line each.
pub fn differences(old: &Value, new: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (part, word) in WHOLE_PARTS {
        if old.get(part) != new.get(part) {
            lines.push(format!("{word}: {} → {}", value_text(old.get(part)), value_text(new.get(part))));
        }
    }
    for (section, word) in SECTIONS {
        compare(word, old.get(section), new.get(section), &mut lines);
    }
    if lines.len() > MAX_DIFFERENCES {
        let more = lines.len() - MAX_DIFFERENCES;
        lines.truncate(MAX_DIFFERENCES);
        lines.push(format!("… and {more} more"));
    }
    lines
}

fn compare(word: &str, old: Option<&Value>, new: Option<&Value>, lines: &mut Vec<String>) {
    let none = JsonObject::new();
    let old = old.and_then(Value::as_object).unwrap_or(&none);
    let new = new.and_then(Value::as_object).unwrap_or(&none);
    for (name, was) in old {
        match new.get(name) {
            None => lines.push(format!("{word} {name} removed")),
            Some(is) if is == was => {}
            Some(is) if word == "input" && digest_of_input(was) == digest_of_input(is) => {
                let now =
                    if is.as_str().is_some_and(|is| is.ends_with(EXECUTABLE)) { "can" } else { "cannot" };
                lines.push(format!("{word} {name} {now} be executed now"));
            }
            Some(is) if word == "input" => {
                lines.push(format!("{word} {name} changed {} → {}", short(was), short(is)));
            }
            Some(is) => {
                lines.push(format!("{word} {name}: {} → {}", value_text(Some(was)), value_text(Some(is))));
            }
        }
    }
    let added = new.keys().filter(|name| !old.contains_key(*name));
    lines.extend(added.map(|name| format!("{word} {name} added")));
}

/// Returns a short text for a value.
fn value_text(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".into(), Value::to_string);
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn short(digest: &Value) -> &str {
    digest.as_str().and_then(|digest| digest.get(..8)).unwrap_or("?")
}

/// Returns the value with sorted object keys, so that equal parts have equal bytes.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<_> = fields.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            keys.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect::<JsonObject>().into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
