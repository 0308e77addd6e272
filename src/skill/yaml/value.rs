use crate::source::Span;

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::skill) struct Document {
    /// Its value; none if there is nothing but comments.
    pub root: Option<Node>,
    /// What strict readers refuse, in the order of the text.
    pub odd: Vec<Odd>,
}

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::skill) struct Node {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
    /// How its text is written; of a list or a mapping, whether it is in brackets.
    pub form: Form,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::skill) enum Form {
    /// Without quotes.
    Plain,
    /// In quotes.
    Quoted,
    /// Below a `|`.
    Literal,
    /// Below a `>`.
    Folded,
    /// A list or a mapping, one entry a line.
    Block,
    /// A list or a mapping in brackets.
    Flow,
}

/// A text, a list or a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::skill) enum Value {
    /// Any scalar.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in order, with every key once: of two, the last.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::skill) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: Span,
    /// The value.
    pub value: Node,
}

/// Something that strict readers refuse.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::skill) struct Odd {
    /// What.
    pub kind: OddKind,
    /// Where.
    pub span: Span,
}

/// What strict readers refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::skill) enum OddKind {
    /// A list or a mapping in brackets.
    Flow,
    /// An `&anchor`.
    Anchor,
    /// An `*alias`; its value is an empty text.
    Alias,
    /// A `!tag`.
    Tag,
    /// A key that stands twice.
    Duplicate(String),
    /// A `<<` key, and whether its value is one that it takes. It is left out.
    Merge(bool),
    /// A key that is a list or a mapping.
    Key,
    /// A mapping that stands at another column than the mapping before it.
    Column,
    /// A tab outside of quotes, blocks and comments.
    Tab,
}

/// Why a text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::skill) struct Broken {
    /// Where it ceases to be.
    pub span: Span,
    /// Why.
    pub message: String,
    /// Whether it would go on if a blank stood there.
    pub wants_blank: bool,
}

impl Broken {
    /// Says why, and where.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            wants_blank: false,
        }
    }
}

impl OddKind {
    /// What it is, as a fragment.
    pub(in crate::skill) fn says(&self) -> String {
        match self {
            Self::Flow => "a list or a mapping in brackets".into(),
            Self::Anchor => "an anchor".into(),
            Self::Alias => "an alias".into(),
            Self::Tag => "a tag".into(),
            Self::Duplicate(key) => format!("the key `{key}` a second time"),
            Self::Merge(_) => "a merge key".into(),
            Self::Key => "a key that is not text".into(),
            Self::Column => "a mapping indented unlike the one before it".into(),
            Self::Tab => "a tab".into(),
        }
    }
}

impl Node {
    /// Its text, if it is one.
    pub(in crate::skill) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its entries, if it is a mapping.
    pub(in crate::skill) fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of a key, if it is a mapping that has it.
    pub(in crate::skill) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// The same as JSON.
    pub(in crate::skill) fn json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(text) => serde_json::Value::String(text.clone()),
            Value::List(items) => items.iter().map(Self::json).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.json()))
                .collect(),
        }
    }
}

impl Node {
    /// Moves every place in it.
    pub(in crate::skill) fn places(&mut self, to: &impl Fn(Span) -> Span) {
        self.span = to(self.span);
        match &mut self.value {
            Value::Text(_) => {}
            Value::List(items) => items.iter_mut().for_each(|item| item.places(to)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.at = to(entry.at);
                    entry.value.places(to);
                }
            }
        }
    }
}
