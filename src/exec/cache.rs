//! Cache keys: what the result of a step depends on.

use std::fs::File;
use std::path::Path;

use serde_json::{Value, json};

use super::{Env, Unable, files};
use crate::digest::Digest;
use crate::mask::Mask;
use crate::model::{Allow, Limits, Object, Output};

/// The most differences that are told.
const MOST: usize = 50;

/// The sections of a key's parts that are told name by name, and the words for them.
const SECTIONS: [(&str, &str); 4] = [
    ("params", "param"),
    ("env", "env"),
    ("inputs", "input"),
    ("outputs", "output"),
];

/// The parts that are told as a whole, and the words for them.
const WHOLES: [(&str, &str); 7] = [
    ("work", "what is executed"),
    ("cwd", "cwd"),
    ("sandbox", "allow and limits"),
    ("item", "item"),
    ("files", "cached files"),
    ("empty", "input globs without files"),
    ("platform", "platform"),
];

/// What a result depends on besides the files.
#[derive(Clone, Debug)]
pub struct Basis<'a> {
    /// What is executed: shell and script, argv, or the request, as rendered.
    pub work: Value,
    /// Where it runs, relative to the workspace.
    pub cwd: &'a str,
    /// What the step may reach and use, where it runs in a sandbox.
    pub sandbox: Option<(&'a Allow, &'a Limits)>,
    /// The variables that the plan and the step declare.
    pub env: Env,
    /// The plan's parameters.
    pub params: &'a Object,
    /// The item's value, where the step is repeated.
    pub item: Option<&'a Value>,
    /// The declared outputs.
    pub outputs: &'a [Output],
    /// The globs of the files that a reuse restores.
    pub files: &'a [String],
}

/// The key of a result, and what it was made of, for [`differences`]. Reads every file that
/// `inputs` match. Secrets are masked in the parts, so a key does not depend on their values.
pub fn key(
    basis: &Basis<'_>,
    root: &Path,
    inputs: &[String],
    mask: &Mask,
) -> Result<(Digest, Value), Unable> {
    let (digests, empty) = self::inputs(root, inputs)?;
    let env: Object = basis
        .env
        .iter()
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let outputs: Object = basis
        .outputs
        .iter()
        .map(|output| (output.name.to_string(), output.schema.text().clone()))
        .collect();
    let mut parts = json!({
        "work": basis.work,
        "cwd": basis.cwd,
        "env": env,
        "params": basis.params,
        "item": basis.item,
        "outputs": outputs,
        "files": basis.files,
        "inputs": digests,
        "empty": empty,
        "platform": format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    if let (Some(sandbox), Value::Object(parts)) = (basis.sandbox, &mut parts) {
        parts.insert("sandbox".into(), json!(sandbox));
    }
    mask.value(&mut parts);
    Ok((key_of(&parts), parts))
}

/// The key of the parts under which it is noted why the cache has no result for them. It is no part
/// of what the key is made of.
const REFUSED: &str = "refused";

/// The key that is made of some parts.
pub fn key_of(parts: &Value) -> Digest {
    let mut parts = parts.clone();
    if let Value::Object(parts) = &mut parts {
        parts.remove(REFUSED);
    }
    Digest::of(sorted(&parts).to_string().as_bytes())
}

/// Parts with a note of why the cache has no result for them, if there is a reason.
pub fn noted(mut parts: Value, why: Option<&str>) -> Value {
    if let (Some(why), Value::Object(parts)) = (why, &mut parts) {
        parts.insert(REFUSED.to_owned(), json!(why));
    }
    parts
}

/// What was noted.
pub fn refused(parts: &Value) -> Option<&str> {
    parts.get(REFUSED).and_then(Value::as_str)
}

/// The digests of the files that globs match, by their paths, and the globs that match none.
fn inputs(root: &Path, globs: &[String]) -> Result<(Object, Vec<String>), Unable> {
    let (found, empty) = files::matching(root, globs)?;
    let mut digests = Object::new();
    for (path, file) in found {
        let digest = File::open(file)
            .and_then(Digest::of_reader)
            .map_err(|error| Unable::environmental(format!("cannot read `{path}`: {error}")))?;
        digests.insert(path, json!(digest));
    }
    Ok((digests, empty))
}

/// The difference between the input files that the parts of a key name and those that globs match
/// now, in words: the first one. What the work left itself, `own`, is none.
pub fn input_changed(
    root: &Path,
    globs: &[String],
    parts: &Value,
    own: impl Fn(&str, &Value) -> bool,
) -> Option<String> {
    let now = match inputs(root, globs) {
        Ok((now, _)) => now,
        Err(unable) => return Some(unable.why),
    };
    let none = Object::new();
    let then = parts.get("inputs").and_then(Value::as_object);
    let then = then.unwrap_or(&none);
    let differs = |path: &str, what: &str| Some(format!("its input `{path}` {what}"));
    for (path, was) in then {
        match now.get(path) {
            None => return differs(path, "is gone"),
            Some(is) if is != was && !own(path, is) => return differs(path, "changed since"),
            Some(_) => {}
        }
    }
    let new = now
        .iter()
        .find(|(path, is)| !then.contains_key(*path) && !own(path, is));
    new.and_then(|(path, _)| differs(path, "is new"))
}

/// What changed between two keys' parts, one line each, in human words.
pub fn differences(old: &Value, new: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (part, word) in WHOLES {
        if old.get(part) != new.get(part) {
            lines.push(format!(
                "{word}: {} → {}",
                shown(old.get(part)),
                shown(new.get(part))
            ));
        }
    }
    for (section, word) in SECTIONS {
        compare(word, old.get(section), new.get(section), &mut lines);
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("… and {more} more"));
    }
    lines
}

fn compare(word: &str, old: Option<&Value>, new: Option<&Value>, lines: &mut Vec<String>) {
    let none = Object::new();
    let old = old.and_then(Value::as_object).unwrap_or(&none);
    let new = new.and_then(Value::as_object).unwrap_or(&none);
    for (name, was) in old {
        match new.get(name) {
            None => lines.push(format!("{word} {name} removed")),
            Some(is) if is == was => {}
            Some(is) if word == "input" => {
                lines.push(format!(
                    "{word} {name} changed {} → {}",
                    short(was),
                    short(is)
                ));
            }
            Some(is) => {
                lines.push(format!(
                    "{word} {name}: {} → {}",
                    shown(Some(was)),
                    shown(Some(is))
                ));
            }
        }
    }
    let added = new.keys().filter(|name| !old.contains_key(*name));
    lines.extend(added.map(|name| format!("{word} {name} added")));
}

/// A value in a few words.
fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".into(), Value::to_string);
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn short(digest: &Value) -> &str {
    digest
        .as_str()
        .and_then(|digest| digest.get(..8))
        .unwrap_or("?")
}

/// The same value with the keys of its objects in order, so that equal parts have equal bytes.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<_> = fields.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            keys.into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect::<Object>()
                .into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
