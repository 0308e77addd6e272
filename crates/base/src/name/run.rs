use std::fmt;

use serde::{Deserialize, Serialize};

use crate::inline_schema;

/// The id of a run: 32 lower-case hexadecimal digits, random from the first digit, so a short prefix
/// identifies it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

/// An error for a prefix matching more than one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{prefix}` is ambiguous: it matches {} runs", among.len())]
pub struct AmbiguousRunError {
    /// The given prefix.
    pub prefix: String,
    /// The matching runs.
    pub among: Vec<RunId>,
}

impl RunId {
    /// Makes an id from random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Parses an id read back from the store.
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first eight digits, the form shown to users.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }

    /// Returns the id of the nested run an attempt of this run starts: the same attempt always has the same
    /// child, so a restart finds it again.
    #[must_use]
    pub fn child(&self, key: &str) -> Self {
        let digest = crate::digest::Sha256Digest::of_parts([self.0.as_bytes(), key.as_bytes()]);
        Self(digest.to_string().chars().take(32).collect())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

inline_schema!(RunId, "RunId", { "type": "string", "pattern": "^[0-9a-f]{32}$" });
