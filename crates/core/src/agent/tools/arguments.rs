use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, Visitor},
};
use serde_json::Value;
use wf_base::exact_json;
use wf_model::{AgentTool, JsonObject};

use super::{
    mistake::{ToolMistake, quoted, words},
    parameter::{ParameterKind, ToolParameter, parameters},
};

/// The largest number up to which every whole number of JSON is one in memory, too.
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The arguments of a call, each of a kind its tool accepts.
#[derive(Debug)]
pub(super) struct ToolArguments {
    tool: AgentTool,
    given: Vec<(&'static str, ArgumentValue)>,
}

#[derive(Debug)]
enum ArgumentValue {
    Text(String),
    Count(u64),
    Object(JsonObject),
    Texts(Vec<String>),
}

impl ToolArguments {
    /// Parses arguments and reports the first mistake in them.
    pub(super) fn parse(tool: AgentTool, text: &str) -> Result<Self, ToolMistake> {
        // Some models write nothing where there is nothing to say.
        let text = if text.trim().is_empty() { "{}" } else { text };
        let not_json = |error: serde_json::Error| ToolMistake::NotJson { tool, reason: error.to_string() };
        let value: Value = exact_json::read(text).map_err(not_json)?;
        if !value.is_object() {
            return Err(ToolMistake::NotAnObject { tool, found: kind_of(&value) });
        }
        let GivenFields(fields) = exact_json::read(text).map_err(not_json)?;
        let mut given = Vec::with_capacity(fields.len());
        for (at, (name, value)) in fields.iter().enumerate() {
            if fields.iter().take(at).any(|(earlier, _)| earlier == name) {
                return Err(ToolMistake::DuplicateArgument { tool, name: quoted(name) });
            }
            let parameter = parameters(tool).iter().find(|parameter| parameter.name == name);
            let parameter = parameter.ok_or_else(|| ToolMistake::UnknownArgument {
                tool,
                name: quoted(name),
                known: words(parameters(tool).iter().map(|parameter| parameter.name)),
            })?;
            given.push((parameter.name, parse_value(tool, parameter, value)?));
        }
        let is_given = |name: &str| given.iter().any(|(one, _)| *one == name);
        match parameters(tool).iter().find(|one| one.required && !is_given(one.name)) {
            Some(ToolParameter { name, .. }) => Err(ToolMistake::MissingArgument { tool, name }),
            None => Ok(Self { tool, given }),
        }
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<String, ToolMistake> {
        let missing = ToolMistake::MissingArgument { tool: self.tool, name };
        self.optional_text(name).ok_or(missing)
    }

    /// Takes an optional text.
    pub(super) fn optional_text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            ArgumentValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Takes an optional object.
    pub(super) fn optional_object(&mut self, name: &str) -> Option<JsonObject> {
        match self.take(name)? {
            ArgumentValue::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Takes a list of texts; empty if it is not given.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        match self.take(name) {
            Some(ArgumentValue::Texts(texts)) => texts,
            _ => Vec::new(),
        }
    }

    /// Takes an optional number.
    pub(super) fn optional_count(&mut self, name: &str) -> Option<u64> {
        match self.take(name)? {
            ArgumentValue::Count(count) => Some(count),
            _ => None,
        }
    }

    fn take(&mut self, name: &str) -> Option<ArgumentValue> {
        let at = self.given.iter().position(|(one, _)| *one == name)?;
        Some(self.given.swap_remove(at).1)
    }
}

fn parse_value(
    tool: AgentTool,
    parameter: &ToolParameter,
    value: &Value,
) -> Result<ArgumentValue, ToolMistake> {
    let unfit = |expected: String, found: &str| ToolMistake::UnfitArgument {
        tool,
        name: parameter.name,
        expected,
        found: found.to_owned(),
    };
    match (parameter.kind, value) {
        // No file name and no script can contain it.
        (ParameterKind::FilledText, Value::String(text)) if text.contains('\0') => {
            Err(unfit("a text without NUL characters".into(), "one with such a character"))
        }
        (ParameterKind::FilledText, Value::String(text)) if text.is_empty() => {
            Err(unfit("a text".into(), "an empty one"))
        }
        (ParameterKind::Text | ParameterKind::FilledText, Value::String(text)) => {
            Ok(ArgumentValue::Text(text.clone()))
        }
        (ParameterKind::Text | ParameterKind::FilledText, other) => {
            Err(unfit("a text".into(), kind_of(other)))
        }
        (ParameterKind::Object, Value::Object(object)) => Ok(ArgumentValue::Object(object.clone())),
        (ParameterKind::Texts, Value::Array(items)) => {
            let text = |item: &Value| item.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
            let texts: Option<Vec<String>> = items.iter().map(text).collect();
            texts.map(ArgumentValue::Texts).ok_or_else(|| {
                unfit("a list of texts that are not empty".into(), "one with something else in it")
            })
        }
        (ParameterKind::Texts, other) => Err(unfit("a list of texts".into(), kind_of(other))),
        (ParameterKind::Object, other) => Err(unfit("an object".into(), kind_of(other))),
        (ParameterKind::Count(most), value) => {
            let count = whole_number(value).filter(|count| (1..=most).contains(count));
            let expected = match most {
                u64::MAX => "a whole number, at least 1".to_owned(),
                most => format!("a whole number from 1 to {most}"),
            };
            count.map(ArgumentValue::Count).ok_or_else(|| match value {
                Value::Number(number) => unfit(expected, &number.to_string()),
                other => unfit(expected, kind_of(other)),
            })
        }
    }
}

/// Returns a number that is whole, however it is written: JSON Schema counts `3.0` among the integers.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was compared before")]
fn whole_number(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    let exact = |float: &f64| float.fract() == 0.0 && (0.0..=MAX_EXACT_FLOAT).contains(float);
    number.as_u64().or_else(|| number.as_f64().filter(exact).map(|float| float as u64))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The fields of an object as they were written: of a key given twice, both values.
struct GivenFields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for GivenFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct FieldVisitor;

        impl<'de> Visitor<'de> for FieldVisitor {
            type Value = GivenFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GivenFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(GivenFields(fields))
            }
        }

        from.deserialize_map(FieldVisitor)
    }
}
