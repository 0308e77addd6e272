use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::decoder::wrong_type;
use super::{Decode, Decoder};
use crate::expr::{Expr, Template};
use crate::spec::yaml::{Node, Yaml};
use crate::time::Moment;

/// One value, or a list of them.
#[derive(Clone, Debug)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Decode> Decode for OneOrMany<T> {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        match node.value {
            Yaml::List(_) => Vec::decode(node, decoder).map(Self),
            _ => T::decode(node, decoder).map(|one| Self(vec![one])),
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
        let one = generator.subschema_for::<T>();
        let many = generator.subschema_for::<Vec<T>>();
        json_schema!({ "anyOf": [one, many] })
    }
}

impl Decode for String {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        match &node.value {
            Yaml::Text(text) => Some(text.to_string()),
            Yaml::Bad => None,
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => {
                let quoted = format!("write \"{}\"", decoder.written(node.span));
                decoder.note(wrong_type(node, "text").help(quoted));
                None
            }
            Yaml::List(_) => {
                let help = "write one text: `|` begins one of several lines";
                decoder.note(wrong_type(node, "text").help(help));
                None
            }
            Yaml::Map(_) => {
                decoder.wrong_type(node, "text");
                None
            }
        }
    }
}

impl Decode for bool {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        if let Yaml::Bool(yes) = node.value {
            return Some(yes);
        }
        decoder.wrong_type(node, "`true` or `false`");
        None
    }
}

impl Decode for f64 {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        if let Yaml::Number(number) = &node.value {
            return number.as_f64();
        }
        decoder.wrong_type(node, "a number");
        None
    }
}

/// Reads whole numbers within the bounds of their type.
macro_rules! whole {
    ($($type:ty),*) => { $(
        impl Decode for $type {
            fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
                let Yaml::Number(number) = &node.value else {
                    decoder.wrong_type(node, "a whole number");
                    return None;
                };
                let (small, large) = (number.as_i64(), number.as_u64());
                let small = small.and_then(|whole| Self::try_from(whole).ok());
                let fits = small.or_else(|| large.and_then(|whole| whole.try_into().ok()));
                if fits.is_none() {
                    let bounds = (Self::MIN, Self::MAX);
                    let message = format!("expected a whole number from {} to {}", bounds.0, bounds.1);
                    decoder.wrong_value(node, message);
                }
                fits
            }
        }
    )* };
}

whole!(u16, u32, u64, i32, i64);

impl Decode for Value {
    fn decode(node: &Node<'_>, _: &mut Decoder<'_>) -> Option<Self> {
        Some(node.json())
    }
}

impl Decode for Moment {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let text = String::decode(node, decoder)?;
        let moment = Self::parse(&text);
        moment
            .map_err(|bad| decoder.wrong_value(node, bad.to_string()))
            .ok()
    }
}

/// Reads a type that parses text at a place. Numbers and booleans count as the text they are
/// written as.
macro_rules! parsed {
    ($type:ty, $noun:literal, $help:literal) => {
        impl Decode for $type {
            fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
                let span = decoder.content(node);
                let text = match &node.value {
                    Yaml::Text(text) => text,
                    Yaml::Number(_) | Yaml::Bool(_) => decoder.written(node.span),
                    Yaml::Map(_) | Yaml::List(_) => {
                        decoder.note(wrong_type(node, $noun).help($help));
                        return None;
                    }
                    Yaml::Bad | Yaml::Null => {
                        decoder.wrong_type(node, $noun);
                        return None;
                    }
                };
                match Self::parse(text, span) {
                    Ok(parsed) => Some(parsed),
                    Err(mistakes) => {
                        for mistake in mistakes {
                            decoder.note(mistake);
                        }
                        None
                    }
                }
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": ["string", "number", "boolean"] })
            }
        }
    };
}

parsed!(
    Template,
    "text",
    "write one text; a value stands in it as \"{{ params.day }}\", in quotes"
);
parsed!(
    Expr,
    "an expression",
    "write one text without braces: `params.region == 'eu' and not failed('build')`"
);
