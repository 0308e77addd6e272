use super::{DecodeSpec, SpecDecoder};
use crate::yaml::YamlNode;
use wf_base::inline_schema;

/// A pattern of paths, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGlob(pub String);

/// A path inside the workspace, relative to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspacePath(pub String);

/// A file or folder that may be read: relative to the workspace, absolute, or below the home
/// folder, as `~/…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadablePath(pub String);

/// A file or folder of the workspace that may be changed, relative to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritablePath(pub String);

/// A JSON path (RFC 9535).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPathText(pub String);

/// A host from which an agent may fetch pages.
#[derive(Clone, Debug)]
pub struct FetchHostText(pub wf_model::FetchHost);

/// A regular expression.
#[derive(Clone, Debug)]
pub struct RegexPattern(pub regex::Regex);

/// Returns the reason why a path leaves the workspace.
fn strays(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("the path is empty")
    } else if path.starts_with('/') {
        Some("the path must be relative to the workspace")
    } else if path.split('/').any(|part| part == "..") {
        Some("the path must not leave the workspace: `..` is not allowed")
    } else {
        None
    }
}

impl WorkspacePath {
    /// Reads a path inside the workspace; the error explains why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        rel_path(text)
    }
}

impl PathGlob {
    /// Reads a glob; the error explains why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        glob(text)
    }
}

fn glob(text: &str) -> Result<PathGlob, String> {
    if let Some(reason) = strays(text) {
        return Err(reason.into());
    }
    match globset::Glob::new(text) {
        Ok(_) => Ok(PathGlob(text.into())),
        Err(bad) => Err(format!("invalid glob: {}", bad.kind())),
    }
}

fn rel_path(text: &str) -> Result<WorkspacePath, String> {
    match strays(text) {
        Some(reason) => Err(reason.into()),
        None => Ok(WorkspacePath(text.into())),
    }
}

/// Returns the reason why a path is invalid in `allow`.
fn vague(path: &str) -> Option<&'static str> {
    let first = path.split('/').find(|part| !matches!(*part, "" | "."));
    if path.is_empty() {
        Some("the path is empty")
    } else if path.split('/').any(|part| part == "..") {
        Some("`..` is not allowed here")
    } else if path.contains('*') || path.contains("{{") {
        Some("patterns and templates are not allowed here; use the path of the folder")
    } else if path.starts_with('~') && !path.starts_with("~/") {
        Some("only `~/`, your own home folder, is supported")
    } else if !path.starts_with('/') && first == Some(".wf") {
        Some("`.wf` is reserved for wf")
    } else {
        None
    }
}

fn read_path(text: &str) -> Result<ReadablePath, String> {
    match vague(text) {
        Some(reason) => Err(reason.into()),
        None => Ok(ReadablePath(text.into())),
    }
}

fn own_path(text: &str) -> Result<WritablePath, String> {
    let outside = (text.starts_with(['/', '~'])).then_some(
        "only paths in the workspace can be \
        writable",
    );
    match outside.or_else(|| vague(text)) {
        Some(reason) => Err(reason.into()),
        None => Ok(WritablePath(text.into())),
    }
}

fn json_path(text: &str) -> Result<JsonPathText, String> {
    match wf_model::BoundedJsonPath::parse(text) {
        Ok(_) => Ok(JsonPathText(text.into())),
        Err(bad) => Err(bad.to_string()),
    }
}

fn fetch_host(text: &str) -> Result<FetchHostText, String> {
    wf_model::FetchHost::parse(text).map(FetchHostText)
}

fn pattern(text: &str) -> Result<RegexPattern, String> {
    match regex::Regex::new(text) {
        Ok(regex) => Ok(RegexPattern(regex)),
        Err(bad) => {
            let message = bad.to_string();
            let last = message.lines().last().unwrap_or_default();
            let reason = last.trim_start_matches("error: ");
            Err(format!("invalid regular expression: {reason}"))
        }
    }
}

/// Reads types that are text of a certain form.
macro_rules! formed {
    ($($type:ident, $parse:path, $schema:tt;)*) => { $(
        impl DecodeSpec for $type {
            fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
                let text = String::decode(node, decoder)?;
                $parse(&text)
                    .map_err(|reason| decoder.wrong_value(node, reason))
                    .ok()
            }
        }

        inline_schema!($type, stringify!($type), $schema);
    )* };
}

formed! {
    PathGlob, glob, { "type": "string", "minLength": 1 };
    WorkspacePath, rel_path, { "type": "string", "minLength": 1 };
    ReadablePath, read_path, { "type": "string", "minLength": 1 };
    WritablePath, own_path, { "type": "string", "minLength": 1 };
    JsonPathText, json_path, { "type": "string", "pattern": "^\\$" };
    FetchHostText, fetch_host, { "type": "string", "minLength": 1 };
    RegexPattern, pattern, { "type": "string", "format": "regex" };
}
