use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{DecodeSpec, SpecDecoder, decoder::wrong_type};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::time::Moment;
use wf_model::expr::{Expr, Template};

/// One value, or a list of them.
#[derive(Clone, Debug)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: DecodeSpec> DecodeSpec for OneOrMany<T> {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match node.value {
            YamlValue::List(_) => Vec::decode(node, decoder).map(Self),
            _ => T::decode(node, decoder).map(|value| Self(vec![value])),
        }
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schema = generator.subschema_for::<T>();
        let many = generator.subschema_for::<Vec<T>>();
        json_schema!({ "anyOf": [schema, many] })
    }
}

impl DecodeSpec for String {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match &node.value {
            YamlValue::Text(text) => Some(text.to_string()),
            YamlValue::Bad => None,
            YamlValue::Null | YamlValue::Bool(_) | YamlValue::Number(_) => {
                let quoted = format!("write \"{}\"", decoder.source_text(node.span));
                decoder.emit(wrong_type(node, "text").with_help(quoted));
                None
            }
            YamlValue::List(_) => {
                let help = "write a single string: `|` starts a multi-line one";
                decoder.emit(wrong_type(node, "text").with_help(help));
                None
            }
            YamlValue::Map(_) => {
                decoder.wrong_type(node, "text");
                None
            }
        }
    }
}

impl DecodeSpec for bool {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if let YamlValue::Bool(yes) = node.value {
            return Some(yes);
        }
        decoder.wrong_type(node, "`true` or `false`");
        None
    }
}

impl DecodeSpec for f64 {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if let YamlValue::Number(number) = &node.value {
            return number.as_f64();
        }
        decoder.wrong_type(node, "a number");
        None
    }
}

/// Reads whole numbers within the bounds of their type.
macro_rules! whole {
    ($($type:ty),*) => { $(
        impl DecodeSpec for $type {
            fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
                let YamlValue::Number(number) = &node.value else {
                    decoder.wrong_type(node, "a whole number");
                    return None;
                };
                let (small, large) = (number.as_i64(), number.as_u64());
                let small = small.and_then(|whole| Self::try_from(whole).ok());
                let fits = small.or_else(|| large.and_then(|whole| whole.try_into().ok()));
                if fits.is_none() {
                    let bounds = (Self::MIN, Self::MAX);
                    let message = format!("expected a whole number between {} and {}", bounds.0, bounds.1);
                    decoder.wrong_value(node, message);
                }
                fits
            }
        }
    )* };
}

whole!(u16, u32, u64, i32, i64);

impl DecodeSpec for Value {
    fn decode(node: &YamlNode<'_>, _decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        Some(node.json())
    }
}

impl DecodeSpec for Moment {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let text = String::decode(node, decoder)?;
        let moment = Self::parse(&text);
        moment.map_err(|bad| decoder.wrong_value(node, bad.to_string())).ok()
    }
}

/// Reads a type that parses a text with its location. Numbers and booleans count as the text they
/// are written as.
macro_rules! parsed {
    ($type:ty, $noun:literal, $help:literal) => {
        impl DecodeSpec for $type {
            fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
                let span = decoder.content(node);
                let text = match &node.value {
                    YamlValue::Text(text) => text,
                    YamlValue::Number(_) | YamlValue::Bool(_) => decoder.source_text(node.span),
                    YamlValue::Map(_) | YamlValue::List(_) => {
                        decoder.emit(wrong_type(node, $noun).with_help($help));
                        return None;
                    }
                    YamlValue::Bad | YamlValue::Null => {
                        decoder.wrong_type(node, $noun);
                        return None;
                    }
                };
                match Self::parse(text, span) {
                    Ok(parsed) => Some(parsed),
                    Err(mistakes) => {
                        for mistake in mistakes {
                            decoder.emit(mistake);
                        }
                        None
                    }
                }
            }
        }
    };
}

parsed!(Template, "text", "write a single string; a value is inserted as \"{{ params.day }}\", in quotes");
parsed!(
    Expr,
    "an expression",
    "write a single string without braces: `params.region == 'eu' and not failed('build')`"
);
