//! Values with a notation of their own: templates as arguments, durations, sizes.

use super::{DecodeSpec, SpecDecoder, decoder::wrong_type};
use crate::yaml::{YamlNode, YamlValue};
use std::{ops::Deref, time::Duration};
use wf_base::{
    diag::{Code, Diagnostic},
    inline_schema,
    time::parse_duration,
};
use wf_model::expr::Template;

/// A parameter given to a plan: a template, or any other value as it is.
#[derive(Clone, Debug)]
pub struct ArgumentTemplate(pub Template);

impl Deref for ArgumentTemplate {
    type Target = Template;

    fn deref(&self) -> &Template {
        &self.0
    }
}

impl DecodeSpec for ArgumentTemplate {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if let YamlValue::Text(_) = node.value {
            return Template::decode(node, decoder).map(Self);
        }
        if let Some(inner) = template_inside(node) {
            let message = "a template is not allowed inside a list or a mapping";
            let help = "write the whole value as one template";
            let mistake = Diagnostic::new(Code::ValueWrong, inner.span, message);
            decoder.emit(mistake.with_help(help));
            return None;
        }
        Some(Self(Template::of_value(node.json())))
    }
}

/// Returns the first text with a template in it.
fn template_inside<'n, 'a>(node: &'n YamlNode<'a>) -> Option<&'n YamlNode<'a>> {
    match &node.value {
        YamlValue::Text(text) if text.contains("{{") => Some(node),
        YamlValue::List(items) => items.iter().find_map(template_inside),
        YamlValue::Map(entries) => entries.iter().find_map(|entry| template_inside(&entry.value)),
        _ => None,
    }
}

inline_schema!(ArgumentTemplate, "Argument", true);

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
