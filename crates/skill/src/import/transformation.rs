use serde::Serialize;

use super::SkillFormat;
use wf_base::keywords;

/// A record of the conversion of a skill to the standard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkillConversion {
    /// Its new name.
    pub name: String,
    /// Its flavour.
    pub format: SkillFormat,
    /// The evidence for the flavour.
    pub reason: String,
    /// The fate of each field: those of the standard first, then the others in their order.
    pub fields: Vec<ConvertedField>,
    /// The files left out, by path.
    pub left_out: Vec<OmittedFile>,
    /// The points for the user to review, one sentence each.
    pub review: Vec<String>,
    /// Files for `wf` to run as steps, not declared yet.
    pub scripts: Vec<String>,
    /// Front matter that would declare them; `None` if there are none.
    pub suggestion: Option<String>,
}

/// The fate of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConvertedField {
    /// The field. Its value is not repeated.
    pub field: String,
    pub fate: FieldOutcome,
    /// The destination, or the reason; empty if it is unchanged.
    pub reason: String,
}

keywords! {
    /// The fate of a field.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FieldOutcome {
        /// Unchanged.
        Kept = "kept",
        /// Kept in another form or place.
        Translated = "translated",
        /// Dropped.
        Dropped = "dropped",
    }
}

/// A file that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OmittedFile {
    /// Its path in the source.
    pub path: String,
    pub reason: String,
}
