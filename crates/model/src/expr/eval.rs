use serde_json::Value;

use super::{ExprReference, StatusFunction};

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
