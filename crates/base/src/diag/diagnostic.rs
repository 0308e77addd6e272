use super::Code;
use crate::source::Span;

/// The severity of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but is probably not what its author meant.
    Warning,
}

/// A related location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticLabel {
    pub span: Span,
    pub text: String,
}

/// One mistake in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that was broken.
    pub code: Code,
    /// A description of the mistake, as a lower-case fragment that stands alone.
    pub message: String,
    /// The span of the mistake.
    pub span: Span,
    /// A few words under the underlined text.
    pub label: String,
    /// Related locations.
    pub related: Vec<DiagnosticLabel>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Makes a diagnostic from a rule, a span and a description.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, label: String::new(), related: Vec::new(), help: None }
    }

    /// Adds a few words under the underlined text.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a related location.
    #[must_use]
    pub fn with_related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push(DiagnosticLabel { span, text: text.into() });
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Suggests the nearest valid name as the remedy, if there is one.
    #[must_use]
    pub fn with_suggestion(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(name) => self.with_help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Returns the severity, which the code decides.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
