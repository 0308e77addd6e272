use super::{ExprReference, StatusFunction};
use crate::json::order::{equal, order};
use serde_json::Value;
use std::{cmp::Ordering, fmt};

/// The allowed part of the grammar, as a tree. Its depth is bounded by the parser's.
#[derive(Clone, Debug)]
pub(super) enum ExprNode {
    /// A literal value.
    Const(Value),
    /// A name, and the fields of its value that are looked up.
    Read(ExprReference, Vec<PathKey>),
    Test(StatusFunction, Option<String>),
    /// A literal list.
    List(Vec<ExprNode>),
    Not(Box<ExprNode>),
    /// `and`: the first operand that does not count as true, else the last.
    All(Vec<ExprNode>),
    /// `or`: the first operand that counts as true, else the last.
    Any(Vec<ExprNode>),
    Compare(ComparisonOperator, Box<(ExprNode, ExprNode)>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOperator {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
    Within,
}

/// A lookup in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKey {
    /// A field of an object.
    Field(String),
    /// An item of a list, from zero.
    Index(usize),
}

impl PathKey {
    /// Returns the part of a value it selects.
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Field(name) => value.get(name),
            Self::Index(at) => value.get(at),
        }
    }
}

impl fmt::Display for PathKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

impl ExprNode {
    /// Returns the value in a scope; `source` is the whole expression, for the message.
    pub(super) fn eval(&self, source: &str, scope: &dyn ExprScope) -> Result<Value, EvalError> {
        match self {
            Self::Const(value) => Ok(value.clone()),
            Self::Read(name, path) => read(name, path, scope),
            Self::Test(test, step) => Ok(Value::Bool(scope.test(*test, step.as_deref()))),
            Self::List(items) => {
                let values: Result<_, _> = items.iter().map(|n| n.eval(source, scope)).collect();
                values.map(Value::Array)
            }
            Self::Not(inner) => Ok(Value::Bool(!truthy(&inner.eval(source, scope)?))),
            Self::All(operands) => first_operand(operands, source, scope, false),
            Self::Any(operands) => first_operand(operands, source, scope, true),
            Self::Compare(how, sides) => {
                let left = sides.0.eval(source, scope)?;
                let right = sides.1.eval(source, scope)?;
                how.holds(&left, &right).map(Value::Bool).ok_or_else(|| EvalError::Operation {
                    expression: source.into(),
                    reason: how.mismatch_message(&left, &right),
                })
            }
        }
    }
}

fn read(reference: &ExprReference, path: &[PathKey], scope: &dyn ExprScope) -> Result<Value, EvalError> {
    let missing = |path_keys: &[PathKey]| EvalError::NoValue {
        name: path_keys.iter().fold(reference.to_string(), |at, key| format!("{at}{key}")),
    };
    let whole = scope.value(reference).ok_or_else(|| missing(&[]))?;
    let mut part = &whole;
    for (at, key) in path.iter().enumerate() {
        let so_far = path.get(..=at).unwrap_or(path);
        part = key.of(part).ok_or_else(|| missing(so_far))?;
    }
    Ok(part.clone())
}

/// Returns the first operand whose truth is `wanted`, else the last one.
fn first_operand(
    operands: &[ExprNode],
    source: &str,
    scope: &dyn ExprScope,
    deciding: bool,
) -> Result<Value, EvalError> {
    let mut last = Value::Null;
    for operand in operands {
        last = operand.eval(source, scope)?;
        if truthy(&last) == deciding {
            break;
        }
    }
    Ok(last)
}

impl ComparisonOperator {
    /// True if the comparison is true; `None` if it does not apply to such values.
    pub(super) fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        match self {
            Self::Equal => Some(equal(left, right)),
            Self::Unequal => Some(!equal(left, right)),
            Self::Below => order(left, right).map(Ordering::is_lt),
            Self::AtMost => order(left, right).map(Ordering::is_le),
            Self::Above => order(left, right).map(Ordering::is_gt),
            Self::AtLeast => order(left, right).map(Ordering::is_ge),
            Self::Within => match (left, right) {
                (_, Value::Array(items)) => Some(items.iter().any(|item| equal(left, item))),
                (Value::String(part), Value::String(text)) => Some(text.contains(part.as_str())),
                (Value::String(key), Value::Object(fields)) => Some(fields.contains_key(key)),
                _ => None,
            },
        }
    }

    fn mismatch_message(self, left: &Value, right: &Value) -> String {
        let (left, right) = (kind(left), kind(right));
        match self {
            Self::Within => format!("cannot search for {left} in {right}"),
            _ => format!("cannot compare the order of {left} and {right}"),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "none",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Resolves the references of an expression. Implemented by the machine and by tests.
pub trait ExprScope {
    /// Returns the value of a name; `None` if it has none now. Never called with [`ExprReference::Test`].
    fn value(&self, reference: &ExprReference) -> Option<Value>;

    /// Returns the answer of a status function.
    fn test(&self, function: StatusFunction, step: Option<&str>) -> bool;
}

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A name has no value at this point.
    #[error("{name} has no value here")]
    NoValue {
        /// The name as written.
        name: String,
    },
    /// The operation does not apply to these values.
    #[error("cannot evaluate `{expression}`: {reason}")]
    Operation {
        /// The expression as written.
        expression: String,
        reason: String,
    },
}

/// True if a value counts as true: not false, null, zero, or empty.
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}
