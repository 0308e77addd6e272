use std::collections::BTreeMap;

use serde::Serialize;

use super::{Megram, Tags};
use crate::time::Moment;

/// Below this attention there is too little to go by (artoo v0.8, R5).
pub const ATTENTION: f64 = 0.5;

/// Beyond this decision, either way, it is clear where the evidence points (artoo v0.8, R5).
pub const DECISION: f64 = 0.2;

/// The seconds of a day.
const DAY: f64 = 86_400.0;

/// What is known about something, in two channels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Potentials {
    /// How much is known: `Σ|f|·e^(−k·Δt)`.
    pub attention: f64,
    /// Which way it points: `Σσ·f·e^(−k·Δt)`; never more than the attention, either way.
    pub decision: f64,
    /// What follows from both.
    pub action: Action,
}

/// What to do about something, by what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Too little is known to say.
    Ignore,
    /// It should be preferred.
    Exploit,
    /// It must not be used.
    Avoid,
    /// It may be used, if somebody confirms that or in a sandbox.
    Caution,
}

/// What one megram adds to what is known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// How old it is, in days; 0 if it was made in the future.
    pub days: f64,
    /// What is left of it: `|f|·e^(−k·Δt)`.
    pub attention: f64,
    /// The same with its sign: `σ·f·e^(−k·Δt)`.
    pub decision: f64,
}

impl Action {
    /// The action of two sums: the table of thresholds (artoo v0.8, R5).
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

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Exploit => "exploit",
            Self::Avoid => "avoid",
            Self::Caution => "caution",
        }
    }

    /// The row of the table that leads to it.
    pub fn because(self) -> &'static str {
        match self {
            Self::Ignore => "attention < 0.5",
            Self::Exploit => "attention ≥ 0.5 and decision > +0.2",
            Self::Avoid => "attention ≥ 0.5 and decision < −0.2",
            Self::Caution => "attention ≥ 0.5 and −0.2 ≤ decision ≤ +0.2",
        }
    }
}

/// What a megram adds at an instant. A clock that went back makes nothing count for more than when
/// it was new.
pub fn share(megram: &Megram, now: Moment) -> Share {
    let days = now.since(megram.created).as_secs_f64() / DAY;
    let left = (-megram.k * days).exp();
    Share {
        days,
        attention: megram.f.abs() * left,
        decision: megram.sigma * megram.f * left,
    }
}

/// What is known at an instant: the sums over the megrams that fade. A rule is no evidence: it was
/// made of what is counted here already, and would vouch for itself.
pub fn potentials<'a>(megrams: impl IntoIterator<Item = &'a Megram>, now: Moment) -> Potentials {
    let fading = megrams.into_iter().filter(|megram| megram.level.fades());
    let shares: Vec<Share> = fading.map(|megram| share(megram, now)).collect();
    let attention = sum(shares.iter().map(|share| share.attention));
    let decision = sum(shares.iter().map(|share| share.decision));
    // Rounding must not make a sum larger than that of the same terms without their signs.
    let decision = decision.clamp(-attention, attention);
    Potentials {
        attention,
        decision,
        action: Action::of(attention, decision),
    }
}

/// A sum that does not depend on the order of what is added.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let mut terms: Vec<f64> = terms.collect();
    terms.sort_by(f64::total_cmp);
    terms.into_iter().fold(0.0, |sum, term| sum + term)
}

/// The clusters of megrams: those of the same tags together.
pub fn clusters(megrams: &[Megram]) -> BTreeMap<&Tags, Vec<&Megram>> {
    let mut clusters: BTreeMap<&Tags, Vec<&Megram>> = BTreeMap::new();
    for megram in megrams {
        clusters.entry(&megram.tags).or_default().push(megram);
    }
    clusters
}
