use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::decoder::wrong_type;
use super::{DecodeSpec, SpecDecoder};
use crate::yaml::{YamlNode, YamlValue};
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

impl JsonSchema for DurationText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(?=.)(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$"
        })
    }
}
