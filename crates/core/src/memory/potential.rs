use std::collections::BTreeMap;

use serde::Serialize;

use super::{Megram, MegramLevel, MegramTags};
use wf_base::{keywords, time::Moment};

/// The attention below which there is too little evidence (artoo v0.8, R5).
pub const ATTENTION: f64 = 0.5;

/// The decision beyond which, with either sign, the evidence is clear (artoo v0.8, R5).
pub const DECISION: f64 = 0.2;

/// The seconds of a day.
const DAY: f64 = 86_400.0;

/// The evidence about a subject, in two channels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MemoryPotentials {
    /// The amount of evidence: `Σ|f|·e^(−k·Δt)`.
    pub attention: f64,
    /// The direction: `Σσ·f·e^(−k·Δt)`; its absolute value never exceeds the attention.
    pub decision: f64,
    /// The action that follows from both.
    pub action: MemoryAction,
}

keywords! {
    /// The action the evidence about a subject demands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum MemoryAction {
        /// Too little evidence.
        Ignore = "ignore",
        /// Prefer it.
        Exploit = "exploit",
        /// Do not use it.
        Avoid = "avoid",
        /// Use it with confirmation by the user or in a sandbox.
        Caution = "caution",
    }
}

/// The contribution of one megram to the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EvidenceShare {
    /// The age, in days; 0 if it was made in the future.
    pub days: f64,
    /// The remaining weight: `|f|·e^(−k·Δt)`.
    pub attention: f64,
    /// The remaining weight with its sign: `σ·f·e^(−k·Δt)`.
    pub decision: f64,
}

impl MemoryAction {
    /// Returns the action for two sums: the table of thresholds (artoo v0.8, R5).
    pub fn of(attention: f64, decision: f64) -> Self {
        if attention < ATTENTION {
            Self::Ignore
        } else if decision > DECISION {
            Self::Exploit
        } else if decision < -DECISION {
            Self::Avoid
        } else {
            Self::Caution
        }
    }

    /// Returns the row of the table leading to it.
    pub fn table_row(self) -> &'static str {
        match self {
            Self::Ignore => "attention < 0.5",
            Self::Exploit => "attention ≥ 0.5 and decision > +0.2",
            Self::Avoid => "attention ≥ 0.5 and decision < −0.2",
            Self::Caution => "attention ≥ 0.5 and −0.2 ≤ decision ≤ +0.2",
        }
    }
}

/// Returns the contribution of a megram at an instant. A clock that went back makes no megram count
/// for more than when it was new.
pub fn share(megram: &Megram, now: Moment) -> EvidenceShare {
    let days = now.since(megram.created).as_secs_f64() / DAY;
    let left = (-megram.k * days).exp();
    EvidenceShare { days, attention: megram.f.abs() * left, decision: megram.sigma * megram.f * left }
}

/// Returns the evidence at an instant: the sums over the megrams that are evidence. A rule is none:
/// it was made of megrams counted here already, and would vouch for itself. Nor is a claim.
pub fn potentials<'a>(megrams: impl IntoIterator<Item = &'a Megram>, now: Moment) -> MemoryPotentials {
    let evidence = megrams.into_iter().filter(|megram| megram.level.is_evidence());
    let shares: Vec<EvidenceShare> = evidence.map(|megram| share(megram, now)).collect();
    let attention = sum(shares.iter().map(|share| share.attention));
    let decision = sum(shares.iter().map(|share| share.decision));
    // Rounding must not make a sum larger than that of the same terms without their signs.
    let decision = decision.clamp(-attention, attention);
    MemoryPotentials { attention, decision, action: MemoryAction::of(attention, decision) }
}

/// Returns a sum that does not depend on the order of the terms.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut terms: Vec<f64> = terms.collect();
    terms.sort_by(f64::total_cmp);
    terms.into_iter().fold(0.0, |sum, term| sum + term)
}

/// Groups megrams into clusters: those of the same tags. A claim is in none, so no word of it is taken for a finding.
pub fn clusters(megrams: &[Megram]) -> BTreeMap<&MegramTags, Vec<&Megram>> {
    let mut clusters: BTreeMap<&MegramTags, Vec<&Megram>> = BTreeMap::new();
    for megram in megrams.iter().filter(|megram| megram.level != MegramLevel::Claim) {
        clusters.entry(&megram.tags).or_default().push(megram);
    }
    clusters
}
