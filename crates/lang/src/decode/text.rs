use super::{DecodeSpec, SpecDecoder};
use crate::yaml::YamlNode;
use wf_base::inline_schema;

/// A pattern of paths, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGlob(pub String);

/// A path inside the workspace, relative to its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspacePath(pub String);

/// A readable file or folder: relative to the workspace, absolute, or below the home
/// folder, as `~/…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadablePath(pub String);

/// A writable file or folder of the workspace, relative to its root.
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

/// The reason why a text is not of the form of its type.
#[derive(Debug, thiserror::Error)]
pub enum TextFormError {
    #[error("the path is empty")]
    EmptyPath,
    #[error("the path must be relative to the workspace")]
    AbsolutePath,
    #[error("the path must not leave the workspace: `..` is not allowed")]
    PathOutside,
    #[error("`..` is not allowed here")]
    ParentFolder,
    #[error("patterns and templates are not allowed here; use the path of the folder")]
    PathPattern,
    #[error("only `~/`, your own home folder, is supported")]
    OtherHome,
    #[error("`.wf` is reserved for wf")]
    ReservedFolder,
    #[error("only paths in the workspace can be writable")]
    WritableOutside,
    #[error("invalid glob: {0}")]
    Glob(globset::ErrorKind),
    #[error(transparent)]
    JsonPath(#[from] wf_model::JsonPathError),
    #[error(transparent)]
    FetchHost(#[from] wf_model::FetchHostError),
    /// No regular expression, by the last line of the parser's message.
    #[error("invalid regular expression: {0}")]
    Pattern(String),
}

/// Refuses a path out of the workspace.
fn check_inside(path: &str) -> Result<(), TextFormError> {
    if path.is_empty() {
        Err(TextFormError::EmptyPath)
    } else if path.starts_with('/') {
        Err(TextFormError::AbsolutePath)
    } else if path.split('/').any(|part| part == "..") {
        Err(TextFormError::PathOutside)
    } else {
        Ok(())
    }
}

/// Refuses an invalid path in `allow`.
fn check_allowed(path: &str) -> Result<(), TextFormError> {
    let first = path.split('/').find(|part| !matches!(*part, "" | "."));
    if path.is_empty() {
        Err(TextFormError::EmptyPath)
    } else if path.split('/').any(|part| part == "..") {
        Err(TextFormError::ParentFolder)
    } else if path.contains('*') || path.contains("{{") {
        Err(TextFormError::PathPattern)
    } else if path.starts_with('~') && !path.starts_with("~/") {
        Err(TextFormError::OtherHome)
    } else if !path.starts_with('/') && first == Some(".wf") {
        Err(TextFormError::ReservedFolder)
    } else {
        Ok(())
    }
}

impl PathGlob {
    /// Reads a glob.
    pub fn parse(text: &str) -> Result<Self, TextFormError> {
        check_inside(text)?;
        globset::Glob::new(text).map_err(|error| TextFormError::Glob(error.kind().clone()))?;
        Ok(Self(text.into()))
    }
}

impl WorkspacePath {
    /// Reads a path inside the workspace.
    pub fn parse(text: &str) -> Result<Self, TextFormError> {
        check_inside(text).map(|()| Self(text.into()))
    }
}

impl ReadablePath {
    fn parse(text: &str) -> Result<Self, TextFormError> {
        check_allowed(text).map(|()| Self(text.into()))
    }
}

impl WritablePath {
    fn parse(text: &str) -> Result<Self, TextFormError> {
        if text.starts_with(['/', '~']) {
            return Err(TextFormError::WritableOutside);
        }
        check_allowed(text).map(|()| Self(text.into()))
    }
}

impl JsonPathText {
    fn parse(text: &str) -> Result<Self, TextFormError> {
        wf_model::BoundedJsonPath::parse(text)?;
        Ok(Self(text.into()))
    }
}

impl FetchHostText {
    fn parse(text: &str) -> Result<Self, TextFormError> {
        Ok(Self(wf_model::FetchHost::parse(text)?))
    }
}

impl RegexPattern {
    fn parse(text: &str) -> Result<Self, TextFormError> {
        regex::Regex::new(text).map(Self).map_err(|error| {
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default();
            TextFormError::Pattern(last.trim_start_matches("error: ").to_owned())
        })
    }
}

/// Reads types that are text of a certain form.
macro_rules! formed {
    ($($type:ident $schema:tt;)*) => { $(
        impl DecodeSpec for $type {
            fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
                let text = String::decode(node, decoder)?;
                Self::parse(&text)
                    .map_err(|error| decoder.wrong_value(node, error.to_string()))
                    .ok()
            }
        }

        inline_schema!($type, stringify!($type), $schema);
    )* };
}

formed! {
    PathGlob { "type": "string", "minLength": 1 };
    WorkspacePath { "type": "string", "minLength": 1 };
    ReadablePath { "type": "string", "minLength": 1 };
    WritablePath { "type": "string", "minLength": 1 };
    JsonPathText { "type": "string", "pattern": "^\\$" };
    FetchHostText { "type": "string", "minLength": 1 };
    RegexPattern { "type": "string", "format": "regex" };
}
