//! A JSON document without duplicate keys: of two different values, one program reads the first and
//! another the last, so the value checked would not be the value used.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON document where no object has a key twice.
pub struct UniqueKeyJson(pub Value);

impl<'de> Deserialize<'de> for UniqueKeyJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueKeyVisitor).map(Self)
    }
}

struct UniqueKeyVisitor;

impl<'de> Visitor<'de> for UniqueKeyVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(UniqueKeyJson(item)) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((key, UniqueKeyJson(value))) = from.next_entry::<String, UniqueKeyJson>()? {
            if fields.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::UniqueKeyJson;

    #[test]
    fn a_key_that_stands_there_twice_is_refused_wherever_it_is() {
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"{"x": {"a": 1, "b": 2, "a": 3}}"#,
            r#"[{"a": [{"a": 1, "\u0061": 2}]}]"#,
        ] {
            let refused = serde_json::from_str::<UniqueKeyJson>(text).err().unwrap();
            assert!(refused.to_string().contains("duplicate key `a`"), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn all_else_is_read_as_it_is(number in any::<f64>(), small in any::<i64>(), text in ".*") {
            let value = json!({ "n": [small, null, true, number], "t": { "n": text, "": {} } });
            let again: UniqueKeyJson = serde_json::from_str(&value.to_string()).unwrap();
            let plain: Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(again.0, plain);
        }
    }
}
