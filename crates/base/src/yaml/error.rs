use granit_parser::ErrorKind;

use super::reader::MAX_DEPTH;
use crate::source::Span;

/// The reason why a text cannot be read as YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    pub kind: YamlErrorKind,
    /// The location: the character at which the reading stopped.
    pub span: Span,
    pub message: String,
    /// The usual remedy.
    pub help: Option<&'static str>,
    /// True if a blank at that point would let the parser continue.
    pub wants_blank: bool,
}

/// A kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlErrorKind {
    /// It is not YAML.
    Syntax,
    /// It is nested too deeply, or has too many values.
    Size,
    /// It begins with a directive.
    Directive,
    /// It has a second document.
    Document,
}

impl YamlError {
    pub(super) fn new(kind: YamlErrorKind, span: Span, message: impl Into<String>) -> Self {
        Self { kind, span, message: message.into(), help: None, wants_blank: false }
    }

    pub(super) fn too_deep(span: Span) -> Self {
        Self::new(YamlErrorKind::Size, span, format!("nested more than {MAX_DEPTH} levels deep"))
    }

    /// Returns the error of the parser.
    pub(super) fn of(kind: &ErrorKind, span: Span) -> Self {
        match kind {
            ErrorKind::RecursionLimitExceeded => Self::too_deep(span),
            ErrorKind::DirectiveDisallowed => {
                Self::new(YamlErrorKind::Directive, span, "directives are not supported")
            }
            kind => Self {
                help: remedy(kind),
                wants_blank: matches!(
                    kind,
                    ErrorKind::CommentNotSeparated
                        | ErrorKind::InvalidQuotedScalarIndent
                        | ErrorKind::TabInIndentation
                ),
                ..Self::new(YamlErrorKind::Syntax, span, kind.to_string())
            },
        }
    }
}

fn remedy(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::MappingValueNotAllowed
        | ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some("quote text with special characters, or put it under a `|`")
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => Some("indent with spaces"),
        _ => None,
    }
}
