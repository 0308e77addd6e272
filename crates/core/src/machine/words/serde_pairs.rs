//! Maps with keys other than strings: serialized as lists of pairs, or read where the keys are text.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub(in crate::machine) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
    map: &BTreeMap<K, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map)
}

pub(in crate::machine) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Vec::deserialize(deserializer)?.into_iter().collect())
}

/// Reads a map with numbers as keys: they are text inside a flattened object.
pub(in crate::machine) fn deserialize_numbered<'de, V, D>(
    deserializer: D,
) -> Result<BTreeMap<u32, V>, D::Error>
where
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let named = BTreeMap::<String, V>::deserialize(deserializer)?;
    let numbered = named.into_iter().map(|(key, value)| Ok((key.parse().map_err(Error::custom)?, value)));
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};
    use serde_json::json;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Whole {
        open: u32,
        #[serde(flatten)]
        part: Part,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Part {
        #[serde(default, deserialize_with = "super::deserialize_numbered")]
        blocks: BTreeMap<u32, String>,
    }

    #[test]
    fn a_flattened_map_keeps_its_numbers() {
        let whole = Whole { open: 2, part: Part { blocks: BTreeMap::from([(7, "a".to_owned())]) } };
        let stored = serde_json::to_value(&whole).unwrap();
        assert_eq!(stored, json!({"open": 2, "blocks": {"7": "a"}}));
        assert_eq!(serde_json::from_value::<Whole>(stored).unwrap(), whole);
        assert!(serde_json::from_value::<Whole>(json!({"open": 2, "blocks": {"x": "a"}})).is_err());
    }
}
