use serde_json::Value;

use super::{EvalError, Scope, SpannedRef};
use crate::diag::Diagnostic;
use crate::source::Span;

/// Text with expressions between `{{` and `}}`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Template {
    source: std::sync::Arc<str>,
    refs: std::sync::Arc<[SpannedRef]>,
}

impl Template {
    /// Parses a template that stands at `at`.
    pub fn parse(_text: &str, _at: Span) -> Result<Self, Vec<Diagnostic>> {
        Err(Vec::new())
    }

    /// A template without expressions.
    pub fn literal(text: &str) -> Self {
        Self {
            source: text.into(),
            refs: [].into(),
        }
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Every name read, with its place.
    pub fn refs(&self) -> &[SpannedRef] {
        &self.refs
    }

    /// The text with every expression replaced by its value: strings as they are, all else as
    /// JSON.
    pub fn render(&self, _scope: &dyn Scope) -> Result<String, EvalError> {
        Ok(String::new())
    }

    /// The value: typed if the template is one expression and nothing else, else the text.
    pub fn value(&self, _scope: &dyn Scope) -> Result<Value, EvalError> {
        Ok(Value::Null)
    }
}
