//! A mistake to test with.

use super::Checked;
use crate::diag::{Code, Diagnostic};
use crate::source::{Source, Span};

/// A file with one error that bears on two places.
pub(super) fn checked() -> Checked {
    let text = "---\nkind: plan\nsteps:\n  - {id: build}\n  - {id: build}\n---\n";
    let first = text.find("build").unwrap();
    let second = text.rfind("build").unwrap();
    let span = |at| Span::new(at, at + 5);
    let wrong = Diagnostic::new(
        Code::DuplicateId,
        span(second),
        "two steps are called `build`",
    )
    .label("the second")
    .also(span(first), "the first")
    .help("give one of them another id");
    Checked {
        source: Source::new("plans/a.md", text),
        diagnostics: vec![wrong],
    }
}
