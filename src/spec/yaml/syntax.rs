use granit_parser::ErrorKind;

use super::MAX_DEPTH;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// The mistake that ends the reading of a text.
pub(super) fn mistake(kind: &ErrorKind, place: Span) -> Diagnostic {
    match kind {
        ErrorKind::RecursionLimitExceeded => too_deep(place),
        ErrorKind::DirectiveDisallowed => {
            Diagnostic::new(Code::YamlFeature, place, "a directive is not allowed here")
        }
        kind => {
            let mistake = Diagnostic::new(Code::YamlSyntax, place, kind.to_string());
            match remedy(kind) {
                Some(remedy) => mistake.help(remedy),
                None => mistake,
            }
        }
    }
}

/// What usually helps.
fn remedy(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::MappingValueNotAllowed
        | ErrorKind::UnexpectedCharacter { .. }
        | ErrorKind::InvalidTrailingDoubleQuotedScalar
        | ErrorKind::InvalidTrailingSingleQuotedScalar => {
            Some("text with special characters in it stands in quotes, or below a `|`")
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => Some("indent with spaces"),
        _ => None,
    }
}

pub(super) fn too_deep(place: Span) -> Diagnostic {
    let message = format!("this is nested more than {MAX_DEPTH} deep");
    Diagnostic::new(Code::YamlTooLarge, place, message)
}
