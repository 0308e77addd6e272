use std::collections::BTreeSet;

use serde::Serialize;

use super::{Level, Megram, Potentials, Sense, Tags, clusters, distil, potentials};
use crate::digest::Digest;
use crate::time::Moment;

/// The megrams of a cluster that fade are forgotten when its attention is less than this (artoo v0.8,
/// `Λ_gc`).
pub const FORGOTTEN: f64 = 0.1;

/// How fast a rule fades, a day, once it lost its trust (artoo v0.8, `Λ_demote`).
pub const DEMOTED_K: f64 = 0.05;

/// A rule is made from this attention on (artoo v0.8, consolidation).
pub const ATTENTION_OF_A_RULE: f64 = 5.0;

/// And from this decision on, either way (artoo v0.8, consolidation).
pub const DECISION_OF_A_RULE: f64 = 3.0;

/// What the Dreamer does to what is remembered: first `forget`, then `demote`, then `promote`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dream {
    /// What goes, by id. A rule that lost its trust never is among them: what contradicts it is left.
    pub forget: Vec<Digest>,
    /// The rules that become knowledge, and fade from when they were made.
    pub demote: Vec<Digest>,
    /// The rules that are made.
    pub promote: Vec<Megram>,
}

/// Dreams: what should become of what is remembered, at an instant (artoo v0.8, R5, the Dreamer).
///
/// - A cluster of which too little is left is forgotten, except for its rules and laws. One megram of it
///   counts for as long as the others do: what is known of a cluster is their sum.
/// - *Trust bankruptcy*: a rule that the evidence about its cluster contradicts is one no more. The
///   source says it of a decision below 0. That is meant of best practices: taken by the letter it
///   would end every constraint as soon as it is made, so for those the sign is the other one.
/// - *Consolidation*: a cluster over both thresholds becomes a rule, unless one that says the same
///   stands. One that says the opposite has lost its trust before.
///
/// Dreaming again at the same instant changes nothing more.
pub fn dream(megrams: &[Megram], now: Moment) -> Dream {
    let mut dream = Dream::default();
    let mut left = megrams.to_vec();
    forget(&mut left, &mut dream, now);
    loop {
        let lost = bankrupt(&left, now);
        if lost.is_empty() {
            break;
        }
        // What they add as knowledge may change what is known of others.
        for megram in left.iter_mut().filter(|megram| lost.contains(&megram.id)) {
            demote(megram);
        }
        dream.demote.extend(lost);
    }
    dream.promote = consolidated(&left, now);
    dream.forget.sort_unstable();
    dream.demote.sort_unstable();
    dream
}

impl Dream {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.forget.is_empty() && self.demote.is_empty() && self.promote.is_empty()
    }

    /// What is remembered after it.
    #[must_use]
    pub fn applied(&self, megrams: &[Megram]) -> Vec<Megram> {
        let stays = |megram: &&Megram| self.forget.binary_search(&megram.id).is_err();
        let mut left: Vec<Megram> = megrams.iter().filter(stays).cloned().collect();
        for megram in &mut left {
            if self.demote.binary_search(&megram.id).is_ok() {
                demote(megram);
            }
        }
        left.extend(self.promote.iter().cloned());
        left
    }
}

fn demote(rule: &mut Megram) {
    rule.level = Level::Knowledge;
    rule.k = DEMOTED_K;
}

/// Takes away the clusters that have faded. The attention is compared as it is shown, to a hundredth, like the
/// numbers of the source: else a `refine`, which begins with exactly 0.10, would be gone an instant later.
fn forget(left: &mut Vec<Megram>, dream: &mut Dream, now: Moment) {
    let faded = |(tags, cluster): (&Tags, Vec<&Megram>)| {
        let Potentials { attention, .. } = potentials(cluster, now);
        let shown = (attention * 100.0).round() / 100.0;
        (shown < FORGOTTEN).then(|| tags.clone())
    };
    let faded: BTreeSet<Tags> = clusters(left).into_iter().filter_map(faded).collect();
    left.retain(|megram| {
        let stays = !megram.level.fades() || !faded.contains(&megram.tags);
        if !stays {
            dream.forget.push(megram.id);
        }
        stays
    });
}

/// The rules that what is known contradicts.
fn bankrupt(megrams: &[Megram], now: Moment) -> BTreeSet<Digest> {
    let mut lost = BTreeSet::new();
    for cluster in clusters(megrams).into_values() {
        let Potentials { decision, .. } = potentials(cluster.iter().copied(), now);
        let contradicted = |rule: &Megram| {
            rule.sense()
                .is_some_and(|sense| sense.is_contradicted(decision))
        };
        let rules = cluster.into_iter().filter(|megram| contradicted(megram));
        lost.extend(rules.map(|rule| rule.id));
    }
    lost
}

/// The rules that are certain and do not stand yet.
fn consolidated(megrams: &[Megram], now: Moment) -> Vec<Megram> {
    let mut made = Vec::new();
    for (tags, cluster) in clusters(megrams) {
        let Some(sense) = certain(&potentials(cluster.iter().copied(), now)) else {
            continue;
        };
        if !cluster.iter().any(|one| one.sense() == Some(sense)) {
            let evidence: Vec<&Megram> = cluster
                .into_iter()
                .filter(|one| one.level.fades())
                .collect();
            made.push(distil::rule(tags, &evidence, sense, now));
        }
    }
    made
}

/// What is certain about a cluster.
fn certain(known: &Potentials) -> Option<Sense> {
    if known.attention < ATTENTION_OF_A_RULE {
        None
    } else if known.decision >= DECISION_OF_A_RULE {
        Some(Sense::BestPractice)
    } else if known.decision <= -DECISION_OF_A_RULE {
        Some(Sense::Constraint)
    } else {
        None
    }
}
