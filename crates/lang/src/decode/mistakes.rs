use wf_base::diag::Diagnostic;

/// The maximum number of mistakes kept of one file: the memory for a broken file is bounded.
pub const MAX_MISTAKES: usize = 1000;

/// The mistakes of one file, in the order of discovery.
#[derive(Debug, Default)]
pub struct DiagnosticList {
    diagnostics: Vec<Diagnostic>,
    omitted_count: usize,
}

impl DiagnosticList {
    /// Adds a mistake.
    pub fn push(&mut self, mistake: Diagnostic) {
        if self.is_full() {
            self.omitted_count += 1;
        } else {
            self.diagnostics.push(mistake);
        }
    }

    /// True if further mistakes are only counted, so nothing costly need be computed for them.
    pub fn is_full(&self) -> bool {
        self.diagnostics.len() >= MAX_MISTAKES
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Returns all mistakes kept; the last one has the number of those dropped.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.omitted_count > 0
            && let Some(last) = self.diagnostics.pop()
        {
            let more = format!("{} more problems in this file are not shown", self.omitted_count);
            self.diagnostics.push(last.with_help(more));
        }
        self.diagnostics
    }
}

#[cfg(test)]
mod tests {
    use super::{DiagnosticList, MAX_MISTAKES};
    use wf_base::{
        diag::{Code, Diagnostic},
        source::Span,
    };

    #[test]
    fn the_rest_is_counted() {
        let mut mistakes = DiagnosticList::default();
        for _ in 0..MAX_MISTAKES + 7 {
            mistakes.push(Diagnostic::new(Code::YamlSyntax, Span::default(), "no"));
        }
        let all = mistakes.into_diagnostics();
        assert_eq!(all.len(), MAX_MISTAKES);
        let help = all.last().unwrap().help.as_deref();
        assert_eq!(help, Some("7 more problems in this file are not shown"));
    }
}
