use serde::{Deserialize, Serialize};
use wf_base::keywords;

keywords! {
    /// The level of a megram (artoo v0.8, the MKCT pyramid).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MegramLevel {
        /// M: one event.
        Megram = "megram",
        /// K: knowledge that matters for a while, including rules that lost their trust.
        Knowledge = "knowledge",
        /// C: a rule made of many megrams; it does not fade.
        CommonSense = "common_sense",
        /// T: a law written by the user. It does not fade, and is never withdrawn.
        Thinking = "thinking",
        /// A claim: the text of a file nobody vouches for. It is evidence of nothing, and fades like one event.
        Claim = "claim",
    }
}

impl MegramLevel {
    /// True if megrams of this level fade, and are forgotten.
    pub fn fades(self) -> bool {
        matches!(self, Self::Megram | Self::Knowledge | Self::Claim)
    }

    /// True if megrams of this level are the evidence about a cluster.
    pub fn is_evidence(self) -> bool {
        matches!(self, Self::Megram | Self::Knowledge)
    }
}
