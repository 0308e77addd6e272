use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Decode, Decoder};
use crate::spec::yaml::Node;

/// A pattern of paths, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(pub String);

/// A path inside the workspace, relative to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelPath(pub String);

/// A file or folder that may be read: relative to the workspace, absolute, or below the home
/// folder, as `~/…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPath(pub String);

/// A file or folder of the workspace that may be changed, relative to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPath(pub String);

/// A JSON path (RFC 9535).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath(pub String);

/// A regular expression.
#[derive(Clone, Debug)]
pub struct Pattern(pub regex::Regex);

/// Why a path does not stay inside the workspace.
fn strays(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("a path cannot be empty")
    } else if path.starts_with('/') {
        Some("a path here is relative to the workspace")
    } else if path.split('/').any(|part| part == "..") {
        Some("a path here cannot leave the workspace, so it has no `..`")
    } else {
        None
    }
}

impl RelPath {
    /// Reads a path inside the workspace; says why one is not.
    pub fn parse(text: &str) -> Result<Self, String> {
        rel_path(text)
    }
}

impl Glob {
    /// Reads a glob; says what is wrong with one that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        glob(text)
    }
}

fn glob(text: &str) -> Result<Glob, String> {
    if let Some(why) = strays(text) {
        return Err(why.into());
    }
    match globset::Glob::new(text) {
        Ok(_) => Ok(Glob(text.into())),
        Err(bad) => Err(format!("this is not a glob: {}", bad.kind())),
    }
}

fn rel_path(text: &str) -> Result<RelPath, String> {
    match strays(text) {
        Some(why) => Err(why.into()),
        None => Ok(RelPath(text.into())),
    }
}

/// Why a path cannot say what may be reached.
fn vague(path: &str) -> Option<&'static str> {
    let first = path.split('/').find(|part| !matches!(*part, "" | "."));
    if path.is_empty() {
        Some("a path cannot be empty")
    } else if path.split('/').any(|part| part == "..") {
        Some("a path that is allowed has no `..`")
    } else if path.contains('*') || path.contains("{{") {
        Some("a path that is allowed is neither a pattern nor a template; name the folder")
    } else if path.starts_with('~') && !path.starts_with("~/") {
        Some("only the own home folder has a short name, which is `~/`")
    } else if !path.starts_with('/') && first == Some(".wf") {
        Some("`.wf` belongs to wf itself")
    } else {
        None
    }
}

fn read_path(text: &str) -> Result<ReadPath, String> {
    match vague(text) {
        Some(why) => Err(why.into()),
        None => Ok(ReadPath(text.into())),
    }
}

fn own_path(text: &str) -> Result<OwnPath, String> {
    let outside = (text.starts_with(['/', '~'])).then_some("only the workspace can be written to");
    match outside.or_else(|| vague(text)) {
        Some(why) => Err(why.into()),
        None => Ok(OwnPath(text.into())),
    }
}

fn json_path(text: &str) -> Result<JsonPath, String> {
    match crate::model::JsonPath::parse(text) {
        Ok(_) => Ok(JsonPath(text.into())),
        Err(bad) => Err(bad.to_string()),
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    match regex::Regex::new(text) {
        Ok(regex) => Ok(Pattern(regex)),
        Err(bad) => {
            let message = bad.to_string();
            let last = message.lines().last().unwrap_or_default();
            let why = last.trim_start_matches("error: ");
            Err(format!("this is not a regular expression: {why}"))
        }
    }
}

/// Reads types that are text of a certain form.
macro_rules! formed {
    ($($type:ident, $parse:path, $schema:tt;)*) => { $(
        impl Decode for $type {
            fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
                let text = String::decode(node, decoder)?;
                $parse(&text)
                    .map_err(|why| decoder.wrong_value(node, why))
                    .ok()
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )* };
}

formed! {
    Glob, glob, { "type": "string", "minLength": 1 };
    RelPath, rel_path, { "type": "string", "minLength": 1 };
    ReadPath, read_path, { "type": "string", "minLength": 1 };
    OwnPath, own_path, { "type": "string", "minLength": 1 };
    JsonPath, json_path, { "type": "string", "pattern": "^\\$" };
    Pattern, pattern, { "type": "string", "format": "regex" };
}
