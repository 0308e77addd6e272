use serde::Serialize;

use super::Format;

/// What was done to make a skill one of the standard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transformation {
    /// What it is called now.
    pub name: String,
    /// Its flavour.
    pub format: Format,
    /// How that was found out.
    pub why: String,
    /// What became of each field: those of the standard first, then the others in their order.
    pub fields: Vec<FieldFate>,
    /// Which files were not taken, by path.
    pub left_out: Vec<LeftOut>,
    /// What a person has to look at, one sentence each.
    pub review: Vec<String>,
    /// Files that `wf` could run as steps, and that declare nothing yet.
    pub scripts: Vec<String>,
    /// Front matter that would declare them; none if there are none.
    pub suggestion: Option<String>,
}

/// What became of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldFate {
    /// The field. Its value is not repeated.
    pub field: String,
    /// What became of it.
    pub fate: Fate,
    /// Where it went, or why; empty if it is as it was.
    pub why: String,
}

/// Whether a field is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// As it was.
    Kept,
    /// In another form or place.
    Translated,
    /// No more.
    Dropped,
}

impl Fate {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Translated => "translated",
            Self::Dropped => "dropped",
        }
    }
}

/// A file that was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Where it is in the source.
    pub path: String,
    /// Why.
    pub why: String,
}
