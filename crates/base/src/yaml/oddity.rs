use crate::source::Span;

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
