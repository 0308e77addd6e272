use std::sync::Arc;

use serde_json::Value;

use super::lower::Lowering;
use super::node::Node;
use super::{EvalError, Ref, Scope, SpannedRef, StatusTest, decide};
use crate::diag::Diagnostic;
use crate::source::Span;

/// A parsed expression. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Expr {
    source: Arc<str>,
    refs: Arc<[SpannedRef]>,
    root: Arc<Node>,
}

impl Expr {
    /// The longest expression, in bytes.
    pub const MAX: usize = 10_000;

    /// Parses an expression that stands at `at`. Where `at` is exactly as long as the text,
    /// mistakes and names get places inside it; where it is not, because the text was written
    /// with escapes or over several lines, they get all of `at`.
    pub fn parse(text: &str, at: Span) -> Result<Self, Vec<Diagnostic>> {
        let mut lowering = Lowering::new(text, at);
        let root = lowering.run();
        match root {
            Some(root) if lowering.wrong.is_empty() => Ok(Self {
                source: text.trim().into(),
                refs: lowering.refs.into(),
                root: Arc::new(root),
            }),
            _ => Err(lowering.wrong),
        }
    }

    /// An expression that always has this value.
    pub fn of_value(value: Value) -> Self {
        Self {
            source: value.to_string().into(),
            refs: [].into(),
            root: Arc::new(Node::Const(value)),
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

    /// Whether a status function is called.
    pub fn asks_status(&self) -> bool {
        let is_test = |read: &SpannedRef| matches!(read.name, Ref::Test(..));
        self.refs.iter().any(is_test)
    }

    /// The value, if it is the same in every scope. An expression without names that cannot be
    /// evaluated has none.
    pub fn constant(&self) -> Option<Value> {
        if self.refs.is_empty() {
            self.eval(&Nowhere).ok()
        } else {
            None
        }
    }

    /// The value in a scope. Only the names that decide it are asked for: after `false and`
    /// nothing is read.
    pub fn eval(&self, scope: &dyn Scope) -> Result<Value, EvalError> {
        self.root.eval(&self.source, scope)
    }

    /// Whether it counts as true in no scope, as far as that can be seen from the text and from
    /// the values a name can have; `domain` gives those where they are few and known.
    pub fn never_true(&self, domain: &dyn Fn(&Ref) -> Option<Vec<Value>>) -> bool {
        !decide::outcomes(&self.root, domain).can_be_true
    }
}

/// A scope without names.
struct Nowhere;

impl Scope for Nowhere {
    fn value(&self, _: &Ref) -> Option<Value> {
        None
    }

    fn test(&self, _: StatusTest, _: Option<&str>) -> bool {
        false
    }
}
