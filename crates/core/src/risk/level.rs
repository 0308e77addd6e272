use std::fmt;

use serde::{Deserialize, Serialize};
use wf_base::keywords;

keywords! {
    /// The level of a risk.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RiskLevel {
        /// Nothing changes.
        Low = "low",
        /// Changes are known, and can be restored.
        Medium = "medium",
        /// Changes are not known.
        High = "high",
        /// Changes are not known, and nobody here can take them back.
        Irreversible = "irreversible",
    }
}

keywords! {
    /// The rule that decides a risk, from the harmless to the worst.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RiskRule {
        /// It changes nothing.
        ReadsOnly = "reads_only",
        /// It asks other machines, and changes nothing there.
        ReadsOutside = "reads_outside",
        /// It may change files of the workspace.
        Writes = "writes",
        /// It may send anything to other machines.
        Network = "network",
        /// It has no sandbox.
        Unconfined = "unconfined",
        /// It may act elsewhere in somebody's name.
        ActsWithSecret = "acts_with_secret",
    }
}

impl RiskLevel {
    /// True if people confirm what has this risk, whatever an agent would do by itself.
    pub fn requires_confirmation(self) -> bool {
        self >= Self::High
    }
}

impl RiskRule {
    /// Returns the level of a risk the rule decides.
    pub fn level(self) -> RiskLevel {
        match self {
            Self::ReadsOnly => RiskLevel::Low,
            Self::ReadsOutside | Self::Writes => RiskLevel::Medium,
            Self::Network | Self::Unconfined => RiskLevel::High,
            Self::ActsWithSecret => RiskLevel::Irreversible,
        }
    }

    /// Returns the rule for the same with a secret, which counts only where it can be used elsewhere.
    pub(super) fn with_secret(self) -> Self {
        if self >= Self::Network { Self::ActsWithSecret } else { self }
    }

    /// Returns the reason, as a part of a sentence about a step.
    pub fn reason(self) -> &'static str {
        match self {
            Self::ReadsOnly => "changes nothing",
            Self::ReadsOutside => "reads from other machines",
            Self::Writes => "may change files of the workspace",
            Self::Network => "may use the network",
            Self::Unconfined => "has no sandbox, and may do whatever your user may do",
            Self::ActsWithSecret => {
                "may use the network with a secret, and nobody here can take back what it does there"
            }
        }
    }
}

/// The risk of an action: the highest of its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ActionRisk {
    /// The level.
    pub level: RiskLevel,
    /// The rule that decided it.
    pub rule: RiskRule,
    /// The first step that it decided about, after those above it; empty: there is no step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub step: String,
}

impl ActionRisk {
    /// Returns the risk of doing nothing.
    pub(super) fn none() -> Self {
        Self::of_rule(RiskRule::ReadsOnly, String::new())
    }

    pub(super) fn of_rule(rule: RiskRule, step: String) -> Self {
        Self { level: rule.level(), rule, step }
    }

    /// Returns the higher of two risks; of equal ones, the first naming a step.
    pub(super) fn or_higher(self, other: Self) -> Self {
        let names_more = other.rule == self.rule && self.step.is_empty();
        if other.rule > self.rule || names_more { other } else { self }
    }

    /// Returns the reason for its level, in a sentence.
    pub fn reason(&self) -> String {
        let reason = self.rule.reason();
        match (self.rule, self.step.as_str()) {
            (RiskRule::ReadsOnly, _) | (_, "") => format!("it {reason}"),
            (_, step) => format!("`{step}` {reason}"),
        }
    }

    /// Returns it as the risk of a step with the other one inside.
    pub(super) fn inside(self, outer: &str) -> Self {
        let step = if self.step.is_empty() { outer.to_owned() } else { format!("{outer}/{}", self.step) };
        Self { step, ..self }
    }
}

impl fmt::Display for ActionRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.level.as_str(), self.reason())
    }
}
