use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::source::Span;

/// A value and its location. Borrows from the file's text if it can.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode<'a> {
    pub value: YamlValue<'a>,
    /// The location, quotes included.
    pub span: Span,
    /// The notation of its text; of a list or a mapping, block or brackets.
    pub notation: YamlNotation,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlNotation {
    /// Without quotes.
    Plain,
    Quoted,
    /// Below a `|`.
    Literal,
    /// Below a `>`.
    Folded,
    /// A list or a mapping, one entry per line.
    Block,
    /// A list or a mapping in brackets.
    Flow,
}

/// The kinds of YAML values.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue<'a> {
    /// A value not allowed, already reported.
    Bad,
    /// `null`, `~` or nothing.
    Null,
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
    pub key: Cow<'a, str>,
    /// The location of the key.
    pub at: Span,
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

    pub fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns its entries, if it is a mapping.
    pub fn entries(&self) -> Option<&[YamlEntry<'a>]> {
        match &self.value {
            YamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the entry of a key, if it is a mapping with the key.
    pub fn get(&self, key: &str) -> Option<&YamlEntry<'a>> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Returns the same tree with texts of its own, and with every span moved.
    pub fn moved(self, to: &impl Fn(Span) -> Span) -> YamlNode<'static> {
        let value = match self.value {
            YamlValue::Bad => YamlValue::Bad,
            YamlValue::Null => YamlValue::Null,
            YamlValue::Bool(yes) => YamlValue::Bool(yes),
            YamlValue::Number(number) => YamlValue::Number(number),
            YamlValue::Text(text) => YamlValue::Text(text.into_owned().into()),
            YamlValue::List(items) => YamlValue::List(items.into_iter().map(|item| item.moved(to)).collect()),
            YamlValue::Map(entries) => {
                let entries = entries.into_iter().map(|YamlEntry { key, at, value }| YamlEntry {
                    key: key.into_owned().into(),
                    at: to(at),
                    value: value.moved(to),
                });
                YamlValue::Map(entries.collect())
            }
        };
        YamlNode { value, span: to(self.span), notation: self.notation }
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

/// A construct that YAML allows and strict readers refuse.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlOddity {
    pub kind: YamlOddityKind,
    pub span: Span,
}

/// A kind of oddity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YamlOddityKind {
    /// A list or a mapping in brackets.
    Flow,
    Anchor,
    /// An `*alias`, which is not followed.
    Alias,
    Tag,
    /// A duplicate key: its text, and the location of the first one.
    Duplicate(String, Span),
    /// A `<<` key, with true if its value is of an allowed kind. It is left out.
    Merge(bool),
    /// A key that is no scalar. It is left out.
    Key,
    /// A key that is a scalar, but no text. It is left out.
    ScalarKey,
    /// A template without quotes, which is a mapping in a mapping: `{{name}}`.
    Template,
    /// A mapping beginning at another column than the mapping before it.
    Column,
    /// A tab outside of quotes, blocks and comments.
    Tab,
}

impl YamlOddityKind {
    /// Returns a description, as a fragment.
    pub fn description(&self) -> String {
        match self {
            Self::Flow => "a list or a mapping in brackets".into(),
            Self::Anchor => "an anchor".into(),
            Self::Alias => "an alias".into(),
            Self::Tag => "a tag".into(),
            Self::Duplicate(key, _) => format!("the duplicate key `{key}`"),
            Self::Merge(_) => "a merge key".into(),
            Self::Key | Self::ScalarKey => "a key that is not text".into(),
            Self::Template => "a template without quotes".into(),
            Self::Column => "a mapping indented unlike the one before it".into(),
            Self::Tab => "a tab".into(),
        }
    }
}

/// Returns the first tab outside of quotes, blocks and comments. `scalars` are in the order of the
/// text.
pub(super) fn tab_outside(text: &str, at: Span, scalars: &[(Span, YamlNotation)]) -> Option<Span> {
    let holder = |at: usize| {
        let after = scalars.partition_point(|(span, _)| span.start as usize <= at);
        let (span, form) = scalars.get(after.checked_sub(1)?)?;
        (at < span.end as usize).then_some(*form)
    };
    let mut in_comment = false;
    let mut before = b'\n';
    for (at, byte) in at.range().zip(text.get(at.range()).unwrap_or_default().bytes()) {
        match byte {
            b'\n' | b'\r' => in_comment = false,
            b'#' if b" \t\r\n".contains(&before) && holder(at).is_none() => in_comment = true,
            b'\t' if !in_comment && matches!(holder(at), None | Some(YamlNotation::Plain)) => {
                return Some(Span::new(at, at + 1));
            }
            _ => {}
        }
        before = byte;
    }
    None
}
