use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::expr::{EvalError, Expr, ExprReference, ExprScope, PathKey, StatusFunction};
use wf_base::{inline_schema, name::has_paired_brackets};

/// The part of each item of a list that is its key: the item itself, or a property of it.
///
/// **Invariant:** it reads `item` and nothing else.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct ItemKeyPath(Expr);

inline_schema!(ItemKeyPath, "ItemKeyPath", { "type": "string", "pattern": "^\\s*item" });

/// The reason why the items of a list have no keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ItemKeyError {
    /// A part of the path does not exist.
    #[error("the item at position {position} (from 0) has no `{name}`")]
    Missing {
        position: usize,
        /// The part, as written.
        name: String,
    },
    /// It is no single value.
    #[error("the key of the item at position {position} (from 0) is {kind}, not text, a number or a boolean")]
    NotScalar { position: usize, kind: &'static str },
    /// It is an empty text.
    #[error("the key of the item at position {position} (from 0) is empty")]
    Empty { position: usize },
    /// It is too long.
    #[error(
        "the key of the item at position {position} (from 0) has {length} bytes, more than {}",
        ItemKeyPath::MAX
    )]
    TooLong {
        position: usize,
        /// The length in bytes.
        length: usize,
    },
    /// It has characters no name has.
    #[error(
        "the key of the item at position {position} (from 0) has a control character, such as a line break"
    )]
    Control { position: usize },
    /// It cannot be named in brackets.
    #[error("the key of the item at position {position} (from 0) has a bracket without its counterpart")]
    Bracket { position: usize },
    /// Two items have the same key.
    #[error("the items at positions {first} and {second} (from 0) have the same key `{key}`")]
    Repeated {
        /// The position of the first of them.
        first: usize,
        /// The position of the second one.
        second: usize,
        key: String,
    },
}

impl ItemKeyPath {
    /// The longest key, in bytes.
    pub const MAX: usize = 256;

    /// Returns the path an expression is; `None`: it is more than a path, or reads something else.
    pub fn from_expr(expr: Expr) -> Option<Self> {
        let reads_item = expr.lookup().is_some_and(|read| read.name == ExprReference::Item);
        reads_item.then_some(Self(expr))
    }

    /// Returns the text as written.
    pub fn source(&self) -> &str {
        self.0.source()
    }

    /// Returns the part of an item it selects: its keys from the outside in.
    pub fn path(&self) -> &[PathKey] {
        self.0.lookup().map_or(&[], |read| &read.path)
    }

    /// Returns the key of each item of a list. A key is unique in its list.
    pub fn keys(&self, items: &[Value]) -> Result<Vec<String>, ItemKeyError> {
        let mut first_items = BTreeMap::new();
        let mut keys = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            let key = self.key(position, item)?;
            if let Some(first) = first_items.insert(key.clone(), position) {
                return Err(ItemKeyError::Repeated { first, second: position, key });
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn key(&self, position: usize, item: &Value) -> Result<String, ItemKeyError> {
        let evaluated = self.0.eval(&ItemScope(item));
        let missing = |error| ItemKeyError::Missing { position, name: missing_name(self.source(), error) };
        let key = match evaluated.map_err(missing)? {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => yes.to_string(),
            Value::Null => return Err(ItemKeyError::NotScalar { position, kind: "null" }),
            Value::Array(_) => return Err(ItemKeyError::NotScalar { position, kind: "a list" }),
            Value::Object(_) => return Err(ItemKeyError::NotScalar { position, kind: "an object" }),
        };
        match key.len() {
            0 => Err(ItemKeyError::Empty { position }),
            length if length > Self::MAX => Err(ItemKeyError::TooLong { position, length }),
            _ if key.chars().any(char::is_control) => Err(ItemKeyError::Control { position }),
            _ if !has_paired_brackets(&key) => Err(ItemKeyError::Bracket { position }),
            _ => Ok(key),
        }
    }
}

fn missing_name(source: &str, error: EvalError) -> String {
    match error {
        EvalError::NoValue { name } => name,
        EvalError::Operation { .. } => source.to_owned(),
    }
}

impl ItemKeyError {
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing { .. } | Self::NotScalar { .. } | Self::Empty { .. } => {
                "name a property of text, a number or a boolean that every item has"
            }
            Self::TooLong { .. } => "name a shorter property",
            Self::Control { .. } => "name a property without line breaks and other control characters",
            Self::Bracket { .. } => "name a property whose brackets are in pairs",
            Self::Repeated { .. } => "remove one of them, or name a property in which they differ",
        }
    }
}

/// A scope with one item and nothing else.
struct ItemScope<'a>(&'a Value);

impl ExprScope for ItemScope<'_> {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        (*reference == ExprReference::Item).then(|| self.0.clone())
    }

    fn test(&self, _function: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ItemKeyPath;
    use crate::expr::Expr;
    use wf_base::source::Span;

    fn path(text: &str) -> Option<ItemKeyPath> {
        ItemKeyPath::from_expr(Expr::parse(text, Span::default()).unwrap())
    }

    fn keys(text: &str, items: &Value) -> Result<Vec<String>, String> {
        let found = path(text).unwrap().keys(items.as_array().unwrap());
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn only_a_path_into_the_item_is_a_key() {
        for text in ["item", "item.path", "item['a b'].c", "item[0]"] {
            assert!(path(text).is_some(), "{text}");
        }
        for text in ["params.a", "item_key", "item == 1", "'a'", "steps.a.outputs.b", "[item]", "not item.a"]
        {
            assert!(path(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_key_is_a_value_as_it_is_written() {
        let items = json!([{"a": {"b": "src/ä.rs"}}, {"a": {"b": 18_446_744_073_709_551_615_u64}}, {"a": {"b": 1.5}},
            {"a": {"b": true}}, {"a": {"b": "~2"}}]);
        let expected = ["src/ä.rs", "18446744073709551615", "1.5", "true", "~2"];
        assert_eq!(keys("item.a.b", &items).unwrap(), expected);
        assert_eq!(keys("item", &json!(["x", 7])).unwrap(), ["x", "7"]);
        assert_eq!(keys("item[1]", &json!([["x", "y"]])).unwrap(), ["y"]);
        let longest = "x".repeat(ItemKeyPath::MAX);
        assert_eq!(keys("item", &json!([longest])).unwrap(), [longest]);
        assert!(keys("item", &json!([])).unwrap().is_empty());
    }

    #[test]
    fn a_list_without_keys_says_which_item_has_none() {
        let long = "x".repeat(257);
        for (text, items, expected) in [
            ("item.a", json!([{"a": 1}, {"b": 2}]), "the item at position 1 (from 0) has no `item.a`"),
            ("item.a.b", json!([{"a": 1}]), "the item at position 0 (from 0) has no `item.a.b`"),
            ("item.a.b", json!([{}]), "the item at position 0 (from 0) has no `item.a`"),
            (
                "item.a",
                json!([{"a": null}]),
                "the key of the item at position 0 (from 0) is null, not text, a number or a boolean",
            ),
            (
                "item.a",
                json!([{"a": [1]}]),
                "the key of the item at position 0 (from 0) is a list, not text, a number or a boolean",
            ),
            (
                "item",
                json!([{"a": 1}]),
                "the key of the item at position 0 (from 0) is an object, not text, a number or a boolean",
            ),
            ("item", json!(["a", ""]), "the key of the item at position 1 (from 0) is empty"),
            (
                "item",
                json!([long]),
                "the key of the item at position 0 (from 0) has 257 bytes, more than 256",
            ),
            (
                "item",
                json!(["a\nb"]),
                "the key of the item at position 0 (from 0) has a control character, such as a line break",
            ),
            (
                "item.a",
                json!([{"a": 1}, {"a": 2}, {"a": "1"}]),
                "the items at positions 0 and 2 (from 0) have the same key `1`",
            ),
        ] {
            assert_eq!(keys(text, &items).unwrap_err(), expected);
        }
    }
}
