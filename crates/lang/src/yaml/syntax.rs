use granit_parser::ErrorKind;

use super::MAX_DEPTH;
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;

/// Returns the mistake that ends the reading of a text.
pub(super) fn mistake(kind: &ErrorKind, place: Span) -> Diagnostic {
    match kind {
        ErrorKind::RecursionLimitExceeded => too_deep(place),
        ErrorKind::DirectiveDisallowed => {
            Diagnostic::new(Code::YamlFeature, place, "directives are not supported")
        }
        kind => {
            let mistake = Diagnostic::new(Code::YamlSyntax, place, kind.to_string());
            match remedy(kind) {
                Some(remedy) => mistake.with_help(remedy),
                None => mistake,
            }
        }
    }
}

/// Returns the usual remedy.
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

pub(super) fn too_deep(place: Span) -> Diagnostic {
    let message = format!("nested more than {MAX_DEPTH} levels deep");
    Diagnostic::new(Code::YamlTooLarge, place, message)
}
