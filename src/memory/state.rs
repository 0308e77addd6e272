use std::fmt;

use serde::{Deserialize, Serialize};

/// What the solver decided when a megram was made, or what a person said. The rows of the
/// quantization matrix (artoo v0.8, R5), in its order, and one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It was given up.
    Abandon,
    /// Everything that was asked for held.
    Accept,
    /// The tool was wrong for it.
    ChangeApproach,
    /// What was asked for held, within what is tolerated.
    Success,
    /// Something quite different was tried, and led out.
    BreakSymmetry,
    /// The target was wrong, not the tool.
    ChangePath,
    /// It was nearly right.
    Refine,
    /// Somebody contradicts a rule.
    Feedback,
}

/// How much a megram counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// f: how much it counts when it is new, from 0 to 1.
    pub f: f64,
    /// σ: for (up to 1) or against (down to −1) what it is about.
    pub sigma: f64,
    /// k: how fast it fades, a day: after `Δt` days it counts `f·e^(−k·Δt)`. 0: it never does.
    pub k: f64,
}

impl State {
    /// Every state, in the order of the matrix.
    pub const ALL: [Self; 8] = [
        Self::Abandon,
        Self::Accept,
        Self::ChangeApproach,
        Self::Success,
        Self::BreakSymmetry,
        Self::ChangePath,
        Self::Refine,
        Self::Feedback,
    ];

    /// Its row of the quantization matrix (artoo v0.8, R5).
    ///
    /// The matrix has no row for feedback, only that its σ is negative. It counts like the
    /// strongest row, 0.95: who contradicts a rule must outweigh one success of 0.9, and a word of
    /// a person counts no less than anything that the solver found. It fades like all that is
    /// decisive.
    pub fn weights(self) -> Weights {
        let (f, sigma, k) = match self {
            Self::Abandon | Self::Feedback => (0.95, -1.0, 0.05),
            Self::Accept => (0.90, 1.0, 0.05),
            Self::ChangeApproach => (0.85, -1.0, 0.05),
            Self::Success => (0.80, 1.0, 0.05),
            Self::BreakSymmetry => (0.75, 1.0, 0.05),
            Self::ChangePath => (0.30, 0.0, 0.2),
            Self::Refine => (0.10, 0.5, 0.5),
        };
        Weights { f, sigma, k }
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abandon => "abandon",
            Self::Accept => "accept",
            Self::ChangeApproach => "change_approach",
            Self::Success => "success",
            Self::BreakSymmetry => "break_symmetry",
            Self::ChangePath => "change_path",
            Self::Refine => "refine",
            Self::Feedback => "feedback",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
