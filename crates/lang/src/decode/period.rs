use std::time::Duration;

use super::decoder::wrong_type;
use super::{DecodeSpec, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::inline_schema;
use wf_base::time::parse_duration;

/// A length of time, written like `5m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurationText(pub Duration);

impl DecodeSpec for DurationText {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match &node.value {
            YamlValue::Text(text) => match parse_duration(text) {
                Ok(duration) => Some(Self(duration)),
                Err(bad) => {
                    decoder.wrong_value(node, bad.to_string());
                    None
                }
            },
            YamlValue::Number(number) => {
                let help = format!("add the unit: `{number}s`");
                decoder.emit(wrong_type(node, "a duration").with_help(help));
                None
            }
            _ => {
                decoder.wrong_type(node, "a duration");
                None
            }
        }
    }
}

inline_schema!(DurationText, "Period", {
    "type": "string",
    "pattern": "^(?=.)(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$"
});
