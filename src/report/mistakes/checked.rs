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
