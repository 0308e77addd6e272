use serde::{Deserialize, Serialize};

/// Where a run goes after a round: the macro-states of the source, and `accept` before them
/// (artoo v0.8, The 6 Macro-States).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Directive {
    /// Everything holds: the end.
    Accept,
    /// What is missing is within δ: the end. Not everything holds, and that must be said.
    Success,
    /// The same approach to the same target, with other parameters.
    Refine,
    /// The same approach to another target.
    ChangePath,
    /// Another approach.
    ChangeApproach,
    /// An approach of a kind that was never tried.
    BreakSymmetry,
    /// Nothing more is tried: the end.
    Abandon,
}

impl Directive {
    /// The word for it, as it is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Success => "success",
            Self::Refine => "refine",
            Self::ChangePath => "change_path",
            Self::ChangeApproach => "change_approach",
            Self::BreakSymmetry => "break_symmetry",
            Self::Abandon => "abandon",
        }
    }

    /// Whether another round follows.
    pub fn acts(self) -> bool {
        match self {
            Self::Refine | Self::ChangePath | Self::ChangeApproach | Self::BreakSymmetry => true,
            Self::Accept | Self::Success | Self::Abandon => false,
        }
    }
}

/// Which rule of the cascade chose a directive. They are in its order: each wins over all below.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// D = 0: nothing failed. This is no row of the source's table: what holds in full is handed
    /// over without passing the cascade, also when the budget is used up.
    AllHold,
    /// Ω ≥ θ: the budget is used up.
    BudgetSpent,
    /// Two rounds in a row, this one the second, were worse by more than ε (Law 2).
    Diverging,
    /// D ≤ δ: close enough.
    WithinDelta,
    /// |∇L| < ε and P > ρ: no change, and the approach is wrong.
    PlateauLogical,
    /// |∇L| ≥ ε and P > ρ: a change, and the approach is wrong. Also when the loss shrank: what
    /// fails by its approach and seems to get better is not believed (the source's cell 6).
    SignalLogical,
    /// |∇L| < ε and P ≤ ρ: no change, and the world is in the way.
    PlateauEnvironmental,
    /// |∇L| ≥ ε and P ≤ ρ: a change, and the world is in the way.
    SignalEnvironmental,
}

impl Rule {
    /// What it chooses.
    pub fn directive(self) -> Directive {
        match self {
            Self::AllHold => Directive::Accept,
            Self::BudgetSpent | Self::Diverging => Directive::Abandon,
            Self::WithinDelta => Directive::Success,
            Self::PlateauLogical => Directive::BreakSymmetry,
            Self::SignalLogical => Directive::ChangeApproach,
            Self::PlateauEnvironmental => Directive::ChangePath,
            Self::SignalEnvironmental => Directive::Refine,
        }
    }
}

/// How hard a directive is applied. It follows from the direction of the loss, and never changes
/// the directive (artoo v0.8, ∇L Sign as Urgency Modulator).
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    /// ∇L < −ε: it gets better.
    Low,
    /// Neither.
    Normal,
    /// ∇L > ε: it gets worse.
    High,
}
