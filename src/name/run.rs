use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of a run: 32 lower-case hexadecimal digits, random from the first, so that a short
/// prefix names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(String);

/// A prefix names more than one run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{prefix}` names {} runs", among.len())]
pub struct AmbiguousRun {
    /// What was asked for.
    pub prefix: String,
    /// The runs it could mean.
    pub among: Vec<RunId>,
}

impl RunId {
    /// Makes an id of random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Takes an id read back from the store.
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight digits, which people use.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }

    /// The id of the nested run that an attempt of this run starts: the same attempt always has
    /// the same child, so that a restart finds it again.
    #[must_use]
    pub fn child(&self, key: &str) -> Self {
        let digest = crate::digest::Digest::of_parts([self.0.as_bytes(), key.as_bytes()]);
        Self(digest.to_string().chars().take(32).collect())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl schemars::JsonSchema for RunId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RunId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{32}$" })
    }
}
