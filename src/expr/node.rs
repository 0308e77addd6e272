use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use super::{EvalError, Ref, Scope, StatusTest, truthy};

/// The allowed part of the grammar, as a tree. Its depth is bounded by the parser's.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// A value that was written.
    Const(Value),
    /// A name, and the fields of its value that are looked up.
    Read(Ref, Vec<Key>),
    /// A status function.
    Test(StatusTest, Option<String>),
    /// A list that was written.
    List(Vec<Node>),
    /// `not`
    Not(Box<Node>),
    /// `and`: the first operand that does not count as true, else the last.
    All(Vec<Node>),
    /// `or`: the first operand that counts as true, else the last.
    Any(Vec<Node>),
    /// A comparison.
    Compare(Comparison, Box<(Node, Node)>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
    Within,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A field of an object.
    Field(String),
    /// An item of a list, from zero.
    Index(usize),
}

impl Key {
    /// What of a value it selects.
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Field(name) => value.get(name),
            Self::Index(at) => value.get(at),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

impl Node {
    /// The value in a scope; `source` is the whole expression, for the message.
    pub(super) fn eval(&self, source: &str, scope: &dyn Scope) -> Result<Value, EvalError> {
        match self {
            Self::Const(value) => Ok(value.clone()),
            Self::Read(name, path) => read(name, path, scope),
            Self::Test(test, step) => Ok(Value::Bool(scope.test(*test, step.as_deref()))),
            Self::List(items) => {
                let values: Result<_, _> = items.iter().map(|n| n.eval(source, scope)).collect();
                values.map(Value::Array)
            }
            Self::Not(inner) => Ok(Value::Bool(!truthy(&inner.eval(source, scope)?))),
            Self::All(operands) => first(operands, source, scope, false),
            Self::Any(operands) => first(operands, source, scope, true),
            Self::Compare(how, sides) => {
                let left = sides.0.eval(source, scope)?;
                let right = sides.1.eval(source, scope)?;
                how.holds(&left, &right)
                    .map(Value::Bool)
                    .ok_or_else(|| EvalError::Operation {
                        expression: source.into(),
                        reason: how.complaint(&left, &right),
                    })
            }
        }
    }
}

fn read(name: &Ref, path: &[Key], scope: &dyn Scope) -> Result<Value, EvalError> {
    let missing = |keys: &[Key]| EvalError::NoValue {
        name: keys
            .iter()
            .fold(name.to_string(), |at, key| format!("{at}{key}")),
    };
    let whole = scope.value(name).ok_or_else(|| missing(&[]))?;
    let mut found = &whole;
    for (at, key) in path.iter().enumerate() {
        let so_far = path.get(..=at).unwrap_or(path);
        found = key.of(found).ok_or_else(|| missing(so_far))?;
    }
    Ok(found.clone())
}

/// The first operand whose truth is `wanted`, else the last one.
fn first(
    operands: &[Node],
    source: &str,
    scope: &dyn Scope,
    wanted: bool,
) -> Result<Value, EvalError> {
    let mut last = Value::Null;
    for operand in operands {
        last = operand.eval(source, scope)?;
        if truthy(&last) == wanted {
            break;
        }
    }
    Ok(last)
}

impl Comparison {
    /// Whether it holds; `None` if it does not apply to such values.
    pub(super) fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        match self {
            Self::Equal => Some(same(left, right)),
            Self::Unequal => Some(!same(left, right)),
            Self::Below => order(left, right).map(Ordering::is_lt),
            Self::AtMost => order(left, right).map(Ordering::is_le),
            Self::Above => order(left, right).map(Ordering::is_gt),
            Self::AtLeast => order(left, right).map(Ordering::is_ge),
            Self::Within => match (left, right) {
                (_, Value::Array(items)) => Some(items.iter().any(|item| same(left, item))),
                (Value::String(part), Value::String(text)) => Some(text.contains(part.as_str())),
                (Value::String(key), Value::Object(fields)) => Some(fields.contains_key(key)),
                _ => None,
            },
        }
    }

    fn complaint(self, left: &Value, right: &Value) -> String {
        let (left, right) = (kind(left), kind(right));
        match self {
            Self::Within => format!("{left} cannot be looked for in {right}"),
            _ => format!("{left} has no order with {right}"),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "none",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Equality of values; numbers are equal if they are the same number, however written.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => order(left, right) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let in_b = |(key, value): (&String, &Value)| b.get(key).is_some_and(|v| same(value, v));
            a.len() == b.len() && a.iter().all(in_b)
        }
        _ => left == right,
    }
}

/// The order of two numbers or two texts; nothing else has one.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Number(a), Value::Number(b)) => {
            let whole =
                |n: &serde_json::Number| n.as_i64().map(i128::from).or(n.as_u64().map(i128::from));
            match (whole(a), whole(b)) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
            }
        }
        _ => None,
    }
}
