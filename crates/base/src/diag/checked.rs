use super::{Diagnostic, Severity};
use crate::source::SourceText;

/// A file checked and its diagnostics.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    /// The file; its path is shown as it is.
    pub source: SourceText,
    /// The diagnostics, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckedFile {
    /// Returns the number of diagnostics of a severity in the file.
    pub fn count(&self, severity: Severity) -> usize {
        let of = |diagnostic: &&Diagnostic| diagnostic.severity() == severity;
        self.diagnostics.iter().filter(of).count()
    }
}
