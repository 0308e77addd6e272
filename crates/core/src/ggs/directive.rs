use serde::{Deserialize, Serialize};
use wf_base::keywords;

keywords! {
    /// The direction of a run after a round: the macro-states of the source, and `accept` before them
    /// (artoo v0.8, The 6 Macro-States).
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Directive {
        /// Everything passes: the end.
        Accept = "accept",
        /// The rest is within δ: the end. Not everything passes, and that must be reported.
        Success = "success",
        /// The same approach to the same target, with other parameters.
        Refine = "refine",
        /// The same approach to another target.
        ChangePath = "change_path",
        /// Another approach.
        ChangeApproach = "change_approach",
        /// An approach of a kind that was never tried.
        BreakSymmetry = "break_symmetry",
        /// Nothing more is tried: the end.
        Abandon = "abandon",
    }
}

impl Directive {
    /// True if another round follows.
    pub fn acts(self) -> bool {
        match self {
            Self::Refine | Self::ChangePath | Self::ChangeApproach | Self::BreakSymmetry => true,
            Self::Accept | Self::Success | Self::Abandon => false,
        }
    }
}

keywords! {
    /// The rule of the cascade that chose a directive. Rules are in order: each wins over all below.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum GgsRule {
        /// D = 0: nothing failed. Not a row of the source's table: a full pass is accepted without the
        /// cascade, even when the budget is used up.
        AllHold = "all_hold",
        /// Ω ≥ θ: the budget is used up.
        BudgetSpent = "budget_spent",
        /// Two rounds in a row, this one the second, were worse by more than ε (Law 2).
        Diverging = "diverging",
        /// D ≤ δ: close enough.
        WithinDelta = "within_delta",
        /// |∇L| < ε and P > ρ: no change, and the approach is wrong.
        PlateauLogical = "plateau_logical",
        /// |∇L| ≥ ε and P > ρ: a change, and the approach is wrong. Also when the loss shrank: an
        /// approach that fails and seems to improve is not trusted (the source's cell 6).
        SignalLogical = "signal_logical",
        /// |∇L| < ε and P ≤ ρ: no change, and the environment is at fault.
        PlateauEnvironmental = "plateau_environmental",
        /// |∇L| ≥ ε and P ≤ ρ: a change, and the environment is at fault.
        SignalEnvironmental = "signal_environmental",
    }
}

impl GgsRule {
    /// Returns the directive it chooses.
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

/// The intensity of a directive. It follows from the direction of the loss, and never changes the
/// directive (artoo v0.8, ∇L Sign as Urgency Modulator).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DirectiveUrgency {
    /// ∇L < −ε: the loss shrinks.
    Low,
    /// Neither.
    Normal,
    /// ∇L > ε: the loss grows.
    High,
}

#[cfg(test)]
mod tests {
    use super::{Directive, GgsRule};

    #[test]
    fn words_are_those_that_are_recorded() {
        let rules = [
            GgsRule::AllHold,
            GgsRule::BudgetSpent,
            GgsRule::Diverging,
            GgsRule::WithinDelta,
            GgsRule::PlateauLogical,
            GgsRule::SignalLogical,
            GgsRule::PlateauEnvironmental,
            GgsRule::SignalEnvironmental,
        ];
        for rule in rules {
            assert_eq!(serde_json::json!(rule), rule.as_str());
            let directive = rule.directive();
            assert_eq!(serde_json::json!(directive), directive.as_str());
        }
        let words: Vec<&str> = rules.map(|rule| rule.directive().as_str()).into();
        assert_eq!(words[4..], ["break_symmetry", "change_approach", "change_path", "refine"]);
        assert!(rules.iter().all(|rule| rule.directive().acts() == (*rule >= GgsRule::PlateauLogical)));
        assert!(Directive::Accept < Directive::Abandon);
    }
}
