//! The YAML of files of `wf`: [`wf_base::yaml`] by the core schema.
//!
//! No anchors, aliases, tags, merge keys or duplicate keys: every oddity is a mistake, at its location.

use crate::decode::DiagnosticList;
pub use wf_base::yaml::{YamlEntry, YamlNode, YamlValue};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Span,
    yaml::{self, YamlError, YamlErrorKind, YamlNotation, YamlOddity, YamlOddityKind, YamlSchema},
};

/// Reads the YAML at `at` in `text`. Mistakes that leave a tree are noted and do not stop the
/// reading; without a tree, one of them has the reason.
pub fn read_yaml<'a>(text: &'a str, at: Span, diagnostics: &mut DiagnosticList) -> Option<YamlNode<'a>> {
    let read = yaml::read(text, at, YamlSchema::Core, &mut |odd| diagnostics.push(refused(text, &odd)));
    match read {
        Ok(root) => Some(root.unwrap_or(YamlNode {
            value: YamlValue::Null,
            span: Span { end: at.start, ..at },
            notation: YamlNotation::Plain,
        })),
        Err(error) => {
            diagnostics.push(unreadable(error));
            None
        }
    }
}

fn unreadable(error: YamlError) -> Diagnostic {
    let (code, message) = match error.kind {
        YamlErrorKind::Syntax => (Code::YamlSyntax, error.message),
        YamlErrorKind::Size => (Code::YamlTooLarge, error.message),
        YamlErrorKind::Directive => (Code::YamlFeature, error.message),
        YamlErrorKind::Document => (Code::YamlFeature, error.message + "; only one is allowed"),
    };
    let mistake = Diagnostic::new(code, error.span, message);
    match error.help {
        Some(help) => mistake.with_help(help),
        None => mistake,
    }
}

fn refused(text: &str, odd: &YamlOddity) -> Diagnostic {
    let written = text.get(odd.span.range()).unwrap_or_default();
    let feature = |message: &str| Diagnostic::new(Code::YamlFeature, odd.span, message);
    match &odd.kind {
        YamlOddityKind::Duplicate(key, first) => {
            let message = format!("duplicate key `{key}` in this mapping");
            Diagnostic::new(Code::YamlDuplicateKey, odd.span, message)
                .with_related(*first, "first defined here")
        }
        YamlOddityKind::Key => feature("a key must be a string"),
        YamlOddityKind::ScalarKey => {
            feature("a key must be a string").with_help(format!("write \"{written}\""))
        }
        YamlOddityKind::Template => {
            feature("a template must be quoted").with_help(format!("write \"{{{written}}}\""))
        }
        kind => {
            let full_message = match kind {
                YamlOddityKind::Anchor => "anchors",
                YamlOddityKind::Alias => "aliases",
                YamlOddityKind::Tag => "tags",
                YamlOddityKind::Merge(_) => "merge keys",
                _ => "odd notations",
            };
            feature(&format!("{full_message} are not supported"))
                .with_help("write out the value: anchors, aliases, tags and merge keys are not supported")
        }
    }
}
