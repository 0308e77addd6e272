use std::fmt;

/// The first mistake in the JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SylkMistake {
    /// The path of the value, as in `nodes[1].depends_on`, or the line and the column.
    pub place: String,
    /// The description of the mistake.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl SylkMistake {
    /// Reports a mistake.
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into(), help: help.into() }
    }
}

impl fmt::Display for SylkMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for SylkMistake {}
