use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::source::Span;

/// A value and where it stands. Borrows from the file's text where it can.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'a> {
    /// What it is.
    pub value: Yaml<'a>,
    /// Where it stands, quotes included.
    pub span: Span,
}

/// What a YAML value can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml<'a> {
    /// Something not allowed, already reported.
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
    List(Vec<Node<'a>>),
    /// A mapping, in order.
    Map(Vec<Entry<'a>>),
}

/// A key of a mapping and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// Where the key stands.
    pub at: Span,
    /// The value.
    pub value: Node<'a>,
}

impl<'a> Node<'a> {
    /// What it is, for a sentence such as "expected text, found a list".
    pub fn noun(&self) -> &'static str {
        match self.value {
            Yaml::Bad => "something not allowed",
            Yaml::Null => "nothing",
            Yaml::Bool(_) => "a boolean",
            Yaml::Number(_) => "a number",
            Yaml::Text(_) => "text",
            Yaml::List(_) => "a list",
            Yaml::Map(_) => "a mapping",
        }
    }

    /// A place for mistakes about the whole: the first key of a mapping, else the span.
    pub fn head(&self) -> Span {
        match &self.value {
            Yaml::Map(entries) => entries.first().map_or(self.span, |entry| entry.at),
            _ => self.span,
        }
    }

    /// The value of a key, if it is a mapping that has the key.
    pub fn get(&self, key: &str) -> Option<&Entry<'a>> {
        match &self.value {
            Yaml::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The same value as JSON, without places.
    pub fn json(&self) -> Value {
        match &self.value {
            Yaml::Bad | Yaml::Null => Value::Null,
            Yaml::Bool(yes) => Value::Bool(*yes),
            Yaml::Number(number) => Value::Number(number.clone()),
            Yaml::Text(text) => Value::String(text.to_string()),
            Yaml::List(items) => items.iter().map(Self::json).collect(),
            Yaml::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.to_string(), entry.value.json()))
                .collect(),
        }
    }
}
