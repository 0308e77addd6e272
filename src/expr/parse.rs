use serde_json::Value;

use super::{EvalError, Scope, SpannedRef};
use crate::diag::Diagnostic;
use crate::source::Span;

/// A parsed expression. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expr {
    source: std::sync::Arc<str>,
    refs: std::sync::Arc<[SpannedRef]>,
}

impl Expr {
    /// Parses an expression that stands at `at`.
    pub fn parse(_text: &str, _at: Span) -> Result<Self, Vec<Diagnostic>> {
        Err(Vec::new())
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Every name read, with its place.
    pub fn refs(&self) -> &[SpannedRef] {
        &self.refs
    }

    /// Whether a status function is called.
    pub fn asks_status(&self) -> bool {
        false
    }

    /// The value, if it is the same in every scope.
    pub fn constant(&self) -> Option<Value> {
        None
    }

    /// The value in a scope.
    pub fn eval(&self, _scope: &dyn Scope) -> Result<Value, EvalError> {
        Ok(Value::Null)
    }
}
