//! JSON in which each key stands once: of two, one program reads the first and another the last, so
//! a check could pass by a value that nobody uses.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads JSON; a key that stands twice in an object is an error.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Unique>(text).map(|Unique(value)| value)
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reading).map(Self)
    }
}

struct Reading;

impl<'de> Visitor<'de> for Reading {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<Value, E> {
        Ok(Value::Bool(is))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = all.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((key, Unique(value))) = all.next_entry::<String, Unique>()? {
            if members.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::parse;

    #[test]
    fn a_key_that_stands_twice_is_an_error_wherever_it_is() {
        for text in [
            r#"{"ok": false, "ok": true}"#,
            r#"{"ok": true, "\u006fk": true}"#,
            r#"[1, {"deep": {"a": 1, "b": 2, "a": 1}}]"#,
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("stands twice"), "{text}: {error}");
        }
        assert_eq!(
            parse(r#"[{"a": 1}, {"a": 2}]"#).unwrap(),
            json!([{"a": 1}, {"a": 2}])
        );
        assert!(parse("{} {}").is_err(), "only one document");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(|number: f64| json!(number)),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|all| all.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_has_no_such_key_is_read_as_ever(value in any_json()) {
            let text = value.to_string();
            prop_assert_eq!(parse(&text).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }
}
