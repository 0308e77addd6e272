use super::Code;
use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, and is probably not what was meant.
    Warning,
}

/// A second place that bears on the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What about it.
    pub text: String,
}

/// One mistake in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which rule was broken.
    pub code: Code,
    /// What is wrong, as a lower-case fragment that stands alone.
    pub message: String,
    /// Where it is wrong.
    pub span: Span,
    /// A few words under the underlined text.
    pub label: String,
    /// Other places that bear on it.
    pub also: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Says what is wrong and where.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            label: String::new(),
            also: Vec::new(),
            help: None,
        }
    }

    /// Adds a few words under the underlined text.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.also.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Offers the nearest valid name as the remedy, if there is one.
    #[must_use]
    pub fn meant(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// How bad it is; the code decides.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
