use super::{DecodeSpec, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::inline_schema;

/// A number of bytes, alone or with a unit: `64MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl ByteSize {
    fn parse(text: &str) -> Option<Self> {
        let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
        let number: u64 = number.parse().ok()?;
        number.checked_mul(unit).map(Self)
    }
}

impl DecodeSpec for ByteSize {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let size = match &node.value {
            YamlValue::Number(number) => number.as_u64().map(Self),
            YamlValue::Text(text) => Self::parse(text),
            _ => {
                decoder.wrong_type(node, "a size such as 64MiB");
                return None;
            }
        };
        if size.is_none() {
            decoder.wrong_value(node, "a size must be like 4096, 512KiB, 64MiB or 1GiB");
        }
        size
    }
}

inline_schema!(ByteSize, "Size", {
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^[0-9]+(KiB|MiB|GiB)$" },
    ]
});
