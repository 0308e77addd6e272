use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Decode, Decoder};
use crate::spec::yaml::{Node, Yaml};

/// A number of bytes, alone or with a unit: `64MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Size {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
        let number: u64 = number.parse().ok()?;
        number.checked_mul(unit).map(Self)
    }
}

impl Decode for Size {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let size = match &node.value {
            Yaml::Number(number) => number.as_u64().map(Self),
            Yaml::Text(text) => Self::parse(text),
            _ => {
                decoder.wrong_type(node, "a size such as 64MiB");
                return None;
            }
        };
        if size.is_none() {
            decoder.wrong_value(node, "a size is written like 4096, 512KiB, 64MiB or 1GiB");
        }
        size
    }
}

impl JsonSchema for Size {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+(KiB|MiB|GiB)$" },
            ]
        })
    }
}
