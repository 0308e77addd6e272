use wf_base::source::Span;

/// The content of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SkillYamlDocument {
    /// Its value; `None` if there is nothing but comments.
    pub root: Option<SkillYamlNode>,
    /// The oddities that strict readers refuse, in the order of the text.
    pub odd: Vec<YamlOddity>,
}

/// A value and its span.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SkillYamlNode {
    /// Its content.
    pub value: SkillYamlValue,
    /// Its span.
    pub span: Span,
    /// The notation of its text; of a list or a mapping, block or brackets.
    pub form: YamlNotation,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum YamlNotation {
    /// Without quotes.
    Plain,
    /// In quotes.
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

/// A text, a list or a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SkillYamlValue {
    /// Any scalar.
    Text(String),
    /// A sequence.
    List(Vec<SkillYamlNode>),
    /// A mapping, in order, with every key once: of duplicates, the last.
    Map(Vec<SkillYamlEntry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SkillYamlEntry {
    /// The key.
    pub key: String,
    /// The span of the key.
    pub at: Span,
    /// The value.
    pub value: SkillYamlNode,
}

/// An oddity that strict readers refuse.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlOddity {
    /// The kind of oddity.
    pub kind: YamlOddityKind,
    /// Its span.
    pub span: Span,
}

/// A kind of oddity that strict readers refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum YamlOddityKind {
    /// A list or a mapping in brackets.
    Flow,
    /// An `&anchor`.
    Anchor,
    /// An `*alias`; its value is an empty text.
    Alias,
    /// A `!tag`.
    Tag,
    /// A duplicate key.
    Duplicate(String),
    /// A `<<` key, with true if its value is of an allowed kind. It is left out.
    Merge(bool),
    /// A key that is a list or a mapping.
    Key,
    /// A mapping that begins at another column than the mapping before it.
    Column,
    /// A tab outside of quotes, blocks and comments.
    Tab,
}

/// The reason why a text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlSyntaxError {
    /// The span of the error.
    pub span: Span,
    /// The error message.
    pub message: String,
    /// True if a blank at that point would let the parser continue.
    pub wants_blank: bool,
}

impl YamlSyntaxError {
    /// Makes an error from its span and message.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), wants_blank: false }
    }
}

impl YamlOddityKind {
    /// Returns a description, as a fragment.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Flow => "a list or a mapping in brackets".into(),
            Self::Anchor => "an anchor".into(),
            Self::Alias => "an alias".into(),
            Self::Tag => "a tag".into(),
            Self::Duplicate(key) => format!("the duplicate key `{key}`"),
            Self::Merge(_) => "a merge key".into(),
            Self::Key => "a key that is not text".into(),
            Self::Column => "a mapping indented unlike the one before it".into(),
            Self::Tab => "a tab".into(),
        }
    }
}

impl SkillYamlNode {
    /// Its text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            SkillYamlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Its entries, if it is a mapping.
    pub(crate) fn entries(&self) -> Option<&[SkillYamlEntry]> {
        match &self.value {
            SkillYamlValue::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The entry of a key, if it is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&SkillYamlEntry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// Returns the value as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        match &self.value {
            SkillYamlValue::Text(text) => serde_json::Value::String(text.clone()),
            SkillYamlValue::List(items) => items.iter().map(Self::json).collect(),
            SkillYamlValue::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect()
            }
        }
    }
}

impl SkillYamlNode {
    /// Moves every span in it.
    pub(crate) fn places(&mut self, to: &impl Fn(Span) -> Span) {
        self.span = to(self.span);
        match &mut self.value {
            SkillYamlValue::Text(_) => {}
            SkillYamlValue::List(items) => items.iter_mut().for_each(|item| item.places(to)),
            SkillYamlValue::Map(entries) => {
                for entry in entries {
                    entry.at = to(entry.at);
                    entry.value.places(to);
                }
            }
        }
    }
}
