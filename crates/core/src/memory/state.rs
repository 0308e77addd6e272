use serde::{Deserialize, Serialize};
use wf_base::keywords;

keywords! {
    /// The decision of the solver when a megram was made, or feedback of the user. The rows of the
    /// quantization matrix (artoo v0.8, R5), in its order, and one more.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MegramState {
        /// The goal was abandoned.
        Abandon = "abandon",
        /// Every criterion passed.
        Accept = "accept",
        /// The tool was wrong for the goal.
        ChangeApproach = "change_approach",
        /// The criteria passed within the tolerance.
        Success = "success",
        /// A radically different approach succeeded.
        BreakSymmetry = "break_symmetry",
        /// The target was wrong, not the tool.
        ChangePath = "change_path",
        /// The attempt was nearly right.
        Refine = "refine",
        /// Feedback contradicting a rule.
        Feedback = "feedback",
    }
}

/// The weights of a megram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MegramWeights {
    /// f: the weight when new, from 0 to 1.
    pub f: f64,
    /// σ: for (up to 1) or against (down to −1) the subject.
    pub sigma: f64,
    /// k: the decay per day: after `Δt` days the weight is `f·e^(−k·Δt)`. 0: it never fades.
    pub k: f64,
}

impl MegramState {
    /// Returns its row of the quantization matrix (artoo v0.8, R5).
    ///
    /// The matrix has no row for feedback, except that its σ is negative. It counts like the
    /// strongest row, 0.95: a contradiction must outweigh one success of 0.9, and the user's
    /// feedback counts no less than any finding of the solver. It fades like all decisive states.
    pub fn weights(self) -> MegramWeights {
        let (f, sigma, k) = match self {
            Self::Abandon | Self::Feedback => (0.95, -1.0, 0.05),
            Self::Accept => (0.90, 1.0, 0.05),
            Self::ChangeApproach => (0.85, -1.0, 0.05),
            Self::Success => (0.80, 1.0, 0.05),
            Self::BreakSymmetry => (0.75, 1.0, 0.05),
            Self::ChangePath => (0.30, 0.0, 0.2),
            Self::Refine => (0.10, 0.5, 0.5),
        };
        MegramWeights { f, sigma, k }
    }
}
