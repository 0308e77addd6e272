use crate::diag::Diagnostic;

/// How many mistakes of one file are kept; a file of nothing but mistakes must stay bounded.
pub const MAX_MISTAKES: usize = 1000;

/// The mistakes of one file, in the order they are found.
#[derive(Debug, Default)]
pub struct Mistakes {
    kept: Vec<Diagnostic>,
    more: usize,
}

impl Mistakes {
    /// Adds one.
    pub fn note(&mut self, mistake: Diagnostic) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.kept.push(mistake);
        }
    }

    /// Whether further mistakes are only counted, so that nothing costly need be said of them.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_MISTAKES
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// All that were kept; the last says how many were not.
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.more > 0
            && let Some(last) = self.kept.pop()
        {
            let more = format!("{} more mistakes of this file are not shown", self.more);
            self.kept.push(last.help(more));
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_MISTAKES, Mistakes};
    use crate::diag::{Code, Diagnostic};
    use crate::source::Span;

    #[test]
    fn the_rest_is_counted() {
        let mut mistakes = Mistakes::default();
        for _ in 0..MAX_MISTAKES + 7 {
            mistakes.note(Diagnostic::new(Code::YamlSyntax, Span::default(), "no"));
        }
        let all = mistakes.into_diagnostics();
        assert_eq!(all.len(), MAX_MISTAKES);
        let help = all.last().unwrap().help.as_deref();
        assert_eq!(help, Some("7 more mistakes of this file are not shown"));
    }
}
