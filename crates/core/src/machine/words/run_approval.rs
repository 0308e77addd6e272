//! The approval of a run, and the files pinned by it.

use serde::{Deserialize, Serialize};

use wf_base::{digest::Sha256Digest, time::Moment};

/// The signing policy for starting a run (DESIGN section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalPolicy {
    /// The starting user signs for the run.
    Owner,
    /// Other approvers have signed for it.
    Reviewed,
}

/// A counted signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalSigner {
    /// The id of the key: SHA-256 of its DER form.
    pub key_id: Sha256Digest,
    /// The name of its owner in the workspace.
    pub name: String,
}

/// A file as it was approved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PinnedFile {
    /// Its path, relative to the workspace.
    pub path: String,
    /// True for a symbolic link: its content is its target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
    /// True for an executable file: of mode 100755 in git, not 100644.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
    /// SHA-256 of its content.
    pub digest: Sha256Digest,
}

impl PinnedFile {
    /// Creates the pin of a plain file, no link and not executable.
    pub fn file(path: impl Into<String>, digest: Sha256Digest) -> Self {
        Self { path: path.into(), link: false, executable: false, digest }
    }

    /// Returns the path, and the executable bit if nothing else differs from another pin of it.
    pub fn difference(&self, other: &Self) -> String {
        let is_bit_alone = (self.link, self.digest) == (other.link, other.digest);
        let which = if is_bit_alone { " (its executable bit)" } else { "" };
        format!("{}{which}", self.path)
    }
}

/// A verified approval, consumed by the start of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunApproval {
    /// The satisfied policy.
    pub policy: ApprovalPolicy,
    /// SHA-256 of the signed content.
    pub token: Sha256Digest,
    /// The digest of the plan: of all its texts and all its executed files.
    pub plan_digest: Sha256Digest,
    /// The signatures.
    pub by: Vec<ApprovalSigner>,
    /// The nonce: it makes the token unique.
    pub nonce: String,
    /// The number of this execution among the allowed ones, from 1.
    pub execution: u32,
    /// The number of allowed executions.
    pub executions: u32,
    /// The expiry time.
    pub expires: Moment,
    /// The key of the starting user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Sha256Digest>,
    /// The workspace files approved in advance, by path: steps and checks see them as they were, and of the
    /// rest what is declared. Empty if the user who starts the run signs for it at that moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned_files: Vec<PinnedFile>,
    /// SHA-256 of that list as JSON. The log holds only this digest; the list is stored once for all runs
    /// that share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Sha256Digest>,
    /// The globs of files approved as products: for a goal more than the run's plan declares, since a run
    /// that only looks leaves repaired files as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<String>,
    /// The files of the skills whose scripts the plan runs, by path, if the other files were not approved in
    /// advance: these were approved when they were installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<PinnedFile>,
}

/// Returns the list of approved files as it is stored; `None` if there are none.
pub fn tree_text(pins: &[PinnedFile]) -> Option<String> {
    let text = serde_json::to_string(pins).ok();
    text.filter(|_| !pins.is_empty())
}

/// Returns the digest of the list of approved files; `None` if there are none.
pub fn tree_of(pins: &[PinnedFile]) -> Option<Sha256Digest> {
    tree_text(pins).map(|text| Sha256Digest::of_bytes(text.as_bytes()))
}

impl RunApproval {
    /// True if the run was approved before it began, by the files of the whole workspace.
    pub fn is_in_advance(&self) -> bool {
        !self.pinned_files.is_empty() || self.tree.is_some()
    }
}
