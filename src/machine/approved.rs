use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::time::Moment;

/// Whose word starts a run (DESIGN section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalPolicy {
    /// Whoever starts it signs for it.
    Owner,
    /// Others have signed for it.
    Reviewed,
}

/// A signature that counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct By {
    /// The id of the key: SHA-256 of its DER form.
    pub key: Digest,
    /// Whose it is, as the workspace calls them.
    pub name: String,
}

/// A file as it was approved.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Pin {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Whether it is a symbolic link, whose content is the path that it holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
    /// SHA-256 of its content.
    pub digest: Digest,
}

impl Pin {
    /// A file that is no link.
    pub fn file(path: impl Into<String>, digest: Digest) -> Self {
        Self {
            path: path.into(),
            link: false,
            digest,
        }
    }
}

/// An approval that was verified and is used up by the run that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Approved {
    /// By which rule.
    pub policy: ApprovalPolicy,
    /// SHA-256 of what was signed.
    pub token: Digest,
    /// The digest of the plan: of all texts that it is made of and all files that it executes.
    pub plan: Digest,
    /// Who signed it.
    pub by: Vec<By>,
    /// What makes the token different from all others.
    pub nonce: String,
    /// Which of the executions that it allows this one is, from 1.
    pub execution: u32,
    /// How many it allows.
    pub executions: u32,
    /// When it ends to be valid.
    pub expires: Moment,
    /// The key of whoever started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Digest>,
    /// The files of the workspace that were approved in advance, by path: steps and checks see them as they
    /// were, and of the rest what is declared. Empty if whoever starts the run signs for it in the same moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// SHA-256 of that list as JSON. The log holds only this; the list is stored once for all runs that
    /// have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Digest>,
    /// What was approved as made, as globs: of a goal more than the plan of the run says, since what looks
    /// leaves what was repaired as it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<String>,
    /// The files of the skills whose scripts the plan runs, by path, where the others were not
    /// approved in advance: they were when they were installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Pin>,
}

/// The list of approved files as it is stored; `None`: there are none.
pub fn tree_text(pins: &[Pin]) -> Option<String> {
    let text = serde_json::to_string(pins).ok();
    text.filter(|_| !pins.is_empty())
}

/// The digest of the list of approved files; `None`: there are none.
pub fn tree_of(pins: &[Pin]) -> Option<Digest> {
    tree_text(pins).map(|text| Digest::of(text.as_bytes()))
}

impl Approved {
    /// Whether it was approved before it began, by the files of the whole workspace.
    pub fn is_in_advance(&self) -> bool {
        !self.pins.is_empty() || self.tree.is_some()
    }
}
