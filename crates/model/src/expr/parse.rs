use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    EvalError, ExprReference, ExprScope, SpannedReference, StatusFunction, decide, lower::ExprLowering,
    node::ExprNode,
};
use wf_base::{diag::Diagnostic, source::Span};

/// A parsed expression. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expr {
    source: Arc<str>,
    references: Arc<[SpannedReference]>,
    root: Arc<ExprNode>,
}

impl Expr {
    /// The longest expression, in bytes.
    pub const MAX: usize = 10_000;

    /// Parses an expression at `at`. If `at` is exactly as long as the text, mistakes and names get
    /// positions inside it; otherwise, because the text has escapes or several lines in the file,
    /// they get all of `at`.
    pub fn parse(text: &str, at: Span) -> Result<Self, Vec<Diagnostic>> {
        let mut lowering = ExprLowering::new(text, at);
        let root = lowering.lower();
        match root {
            Some(root) if lowering.mistakes.is_empty() => Ok(Self {
                source: text.trim().into(),
                references: lowering.references.into(),
                root: Arc::new(root),
            }),
            _ => Err(lowering.mistakes),
        }
    }

    /// Returns an expression that always has this value.
    pub fn of_value(value: Value) -> Self {
        Self {
            source: value.to_string().into(),
            references: [].into(),
            root: Arc::new(ExprNode::Const(value)),
        }
    }

    /// Returns the text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns every name read, with its position.
    pub fn refs(&self) -> &[SpannedReference] {
        &self.references
    }

    /// Returns the reference that is all of the expression; `None`: it computes something.
    pub fn lookup(&self) -> Option<&SpannedReference> {
        match (&*self.root, &*self.references) {
            (ExprNode::Read(..), [only]) => Some(only),
            _ => None,
        }
    }

    /// True if a status function is called.
    pub fn asks_status(&self) -> bool {
        let is_test = |reference: &SpannedReference| matches!(reference.name, ExprReference::Test(..));
        self.references.iter().any(is_test)
    }

    /// Returns the value, if it is the same in every scope. An expression without names that cannot
    /// be evaluated has none.
    pub fn constant(&self) -> Option<Value> {
        if self.references.is_empty() { self.eval(&EmptyScope).ok() } else { None }
    }

    /// Returns the value in a scope. Only the names that decide it are asked for: after `false and`
    /// nothing is read.
    pub fn eval(&self, scope: &dyn ExprScope) -> Result<Value, EvalError> {
        self.root.eval(&self.source, scope)
    }

    /// True if it counts as true in no scope, as far as can be determined from the text and from
    /// the values a name can have; `domain` gives them where they are few and known.
    pub fn never_true(&self, domain: &dyn Fn(&ExprReference) -> Option<Vec<Value>>) -> bool {
        !decide::outcomes(&self.root, domain).can_be_true
    }
}

impl Serialize for Expr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source().serialize(serializer)
    }
}

/// A scope without names.
struct EmptyScope;

impl ExprScope for EmptyScope {
    fn value(&self, _reference: &ExprReference) -> Option<Value> {
        None
    }

    fn test(&self, _function: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}
