//! Diagnostics as text for people, and as JSON, SARIF and annotations for programs.

mod annotate;
mod json;
mod sarif;
mod text;

pub use annotate::{annotation, annotations};
pub use json::{DIAGNOSTICS_VERSION, json};
pub use sarif::sarif;
pub use text::{summary, text};

use crate::diag::{Diagnostic, Severity};
use crate::source::Source;

/// A file that was checked and what is wrong with it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The file; its path is shown as it is.
    pub source: Source,
    /// What is wrong with it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    /// How many mistakes of a severity the file has.
    pub fn count(&self, severity: Severity) -> usize {
        let of = |diagnostic: &&Diagnostic| diagnostic.severity() == severity;
        self.diagnostics.iter().filter(of).count()
    }
}

#[cfg(test)]
mod sample {
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
}
