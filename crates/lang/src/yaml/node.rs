use std::borrow::Cow;

use serde_json::{Number, Value};

use wf_base::source::Span;

/// A value and its location. Borrows from the file's text if it can.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode<'a> {
    /// The value.
    pub value: YamlValue<'a>,
    /// The location, quotes included.
    pub span: Span,
}

/// The kinds of YAML values.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue<'a> {
    /// A value that is not allowed, already reported.
    Bad,
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A plain scalar that is a number.
    Number(Number),
    /// Any other scalar.
    Text(Cow<'a, str>),
    /// A sequence.
    List(Vec<YamlNode<'a>>),
    /// A mapping, in order.
    Map(Vec<YamlEntry<'a>>),
}

/// A key of a mapping and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlEntry<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// The location of the key.
    pub at: Span,
    /// The value.
    pub value: YamlNode<'a>,
}

impl<'a> YamlNode<'a> {
    /// Returns its name, for a sentence such as "expected text, found a list".
    pub fn noun(&self) -> &'static str {
        match self.value {
            YamlValue::Bad => "unsupported YAML",
            YamlValue::Null => "nothing",
            YamlValue::Bool(_) => "a boolean",
            YamlValue::Number(_) => "a number",
            YamlValue::Text(_) => "text",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a mapping",
        }
    }

    /// Returns the location for mistakes about the whole: a mapping's first key, else the span.
    pub fn head(&self) -> Span {
        match &self.value {
            YamlValue::Map(entries) => entries.first().map_or(self.span, |entry| entry.at),
            _ => self.span,
        }
    }

    /// Returns the entry of a key, if it is a mapping that has the key.
    pub fn get(&self, key: &str) -> Option<&YamlEntry<'a>> {
        match &self.value {
            YamlValue::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// Returns the same value as JSON, without locations.
    pub fn json(&self) -> Value {
        match &self.value {
            YamlValue::Bad | YamlValue::Null => Value::Null,
            YamlValue::Bool(yes) => Value::Bool(*yes),
            YamlValue::Number(number) => Value::Number(number.clone()),
            YamlValue::Text(text) => Value::String(text.to_string()),
            YamlValue::List(items) => items.iter().map(Self::json).collect(),
            YamlValue::Map(entries) => {
                entries.iter().map(|entry| (entry.key.to_string(), entry.value.json())).collect()
            }
        }
    }
}
