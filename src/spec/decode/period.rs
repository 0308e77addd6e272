use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::decoder::wrong_type;
use super::{Decode, Decoder};
use crate::spec::yaml::{Node, Yaml};
use crate::time::parse_duration;

/// A length of time, written like `5m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Duration);

impl Decode for Period {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        match &node.value {
            Yaml::Text(text) => match parse_duration(text) {
                Ok(duration) => Some(Self(duration)),
                Err(bad) => {
                    decoder.wrong_value(node, bad.to_string());
                    None
                }
            },
            Yaml::Number(number) => {
                let help = format!("say the unit: `{number}s`");
                decoder.note(wrong_type(node, "a duration").help(help));
                None
            }
            _ => {
                decoder.wrong_type(node, "a duration");
                None
            }
        }
    }
}

impl JsonSchema for Period {
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
