use std::fmt;

use serde::{Deserialize, Serialize};

/// How far up a megram is (artoo v0.8, the MKCT pyramid).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// M: one thing that happened.
    Megram,
    /// K: what counts for a while; a rule that lost its trust is here.
    Knowledge,
    /// C: a rule that was made of many megrams, and does not fade.
    CommonSense,
    /// T: a law that people wrote. It does not fade, and is never taken back.
    Thinking,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Self; 4] = [
        Self::Megram,
        Self::Knowledge,
        Self::CommonSense,
        Self::Thinking,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Megram => "megram",
            Self::Knowledge => "knowledge",
            Self::CommonSense => "common_sense",
            Self::Thinking => "thinking",
        }
    }

    /// Whether megrams of this level fade, are forgotten, and are the evidence about a cluster.
    pub fn fades(self) -> bool {
        matches!(self, Self::Megram | Self::Knowledge)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
