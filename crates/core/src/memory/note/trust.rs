use serde::{Deserialize, Serialize};
use wf_base::keywords;
use wf_base::time::Moment;

keywords! {
    /// The degree to which a note is trusted (Silas 6.1).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NoteTrust {
        /// Somebody said so.
        #[default]
        Working = "working",
        /// A person confirmed it.
        Verified = "verified",
        /// A person made it a rule for everything.
        Constitutional = "constitutional",
    }
}

impl NoteTrust {
    /// Returns the trust as a number from 0 to 100, as it is ranked by (Sylk, K09, reduced to these levels).
    pub fn score(self, external: bool) -> f64 {
        match self {
            Self::Working if external => 30.0,
            Self::Working => 60.0,
            Self::Verified => 80.0,
            Self::Constitutional => 100.0,
        }
    }
}

/// The confirmation of a note by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoteConfirmation {
    /// The person, as the workspace knows them.
    pub who: String,
    pub at: Moment,
}
