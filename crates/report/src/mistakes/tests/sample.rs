//! A sample diagnostic for tests.

use wf_base::{
    diag::{CheckedFile, Code, Diagnostic},
    source::{SourceText, Span},
};

/// A file with one error that bears on two places.
pub(crate) fn checked() -> CheckedFile {
    let text = "---\nkind: plan\nsteps:\n  - {id: build}\n  - {id: build}\n---\n";
    let first = text.find("build").unwrap();
    let second = text.rfind("build").unwrap();
    let span = |at| Span::new(at, at + 5);
    let wrong = Diagnostic::new(Code::DuplicateId, span(second), "two steps are called `build`")
        .with_label("the second")
        .with_related(span(first), "the first")
        .with_help("give one of them another id");
    CheckedFile { source: SourceText::new("plans/a.md", text), diagnostics: vec![wrong] }
}
