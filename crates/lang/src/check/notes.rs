use crate::decode::DiagnosticList;
use wf_base::diag::{Diagnostic, nearest};

/// The maximum number of names compared with misspelt ones, over all the mistakes of a file.
const MAX_COMPARISONS: usize = 300_000;

/// The mistakes found in one file.
#[derive(Default)]
pub(super) struct FileDiagnostics {
    diagnostics: DiagnosticList,
    compared: usize,
}

impl FileDiagnostics {
    /// Adds a mistake.
    pub(super) fn note(&mut self, mistake: Diagnostic) {
        self.diagnostics.push(mistake);
    }

    /// Adds a mistake, with the nearest valid name as its remedy, else this help.
    pub(super) fn misspelt<'n>(
        &mut self,
        mistake: Diagnostic,
        word: &str,
        among: impl IntoIterator<Item = &'n str>,
        help: &str,
    ) {
        let mut compared = 0;
        let left = MAX_COMPARISONS.saturating_sub(self.compared);
        let among = among.into_iter().take(left).inspect(|_| compared += 1);
        let near = nearest(word, among);
        self.compared += compared;
        self.note(match near {
            Some(_) => mistake.with_suggestion(near),
            None => mistake.with_help(help),
        });
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics.into_diagnostics()
    }
}
