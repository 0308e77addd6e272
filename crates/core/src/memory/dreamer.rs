use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    Megram, MegramLevel, MegramTags, MemoryPotentials, RuleSense, clusters, potentials, rule::make_rule,
    share,
};
use wf_base::{digest::Sha256Digest, time::Moment};

/// The attention below which the fading megrams of a cluster are forgotten (artoo v0.8, `Λ_gc`).
pub const FORGOTTEN: f64 = 0.1;

/// The decay per day of a rule that lost its trust (artoo v0.8, `Λ_demote`).
pub const DEMOTED_K: f64 = 0.05;

/// The attention from which a rule is made (artoo v0.8, consolidation).
pub const ATTENTION_OF_A_RULE: f64 = 5.0;

/// The decision, of either sign, from which a rule is made (artoo v0.8, consolidation).
pub const DECISION_OF_A_RULE: f64 = 3.0;

/// The changes the Dreamer makes to memory: first `forget`, then `demote`, then `promote`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DreamChanges {
    /// The megrams to delete, by id. Never includes a rule that lost its trust: the evidence against it stays.
    pub forget: Vec<Sha256Digest>,
    /// The rules that become knowledge, and fade from their creation.
    pub demote: Vec<Sha256Digest>,
    /// The new rules.
    pub promote: Vec<Megram>,
}

/// Returns the changes to memory at an instant (artoo v0.8, R5, the Dreamer).
///
/// - A cluster of too little attention is forgotten, except for its rules and laws. Its megrams count for as
///   long as the cluster does: the knowledge about a cluster is their sum.
/// - *Trust bankruptcy*: a rule that the evidence about its cluster contradicts is demoted. The source states
///   this for a decision below 0, which is meant for best practices: taken literally it would end every
///   constraint as soon as it is made, so constraints use the opposite sign.
/// - *Consolidation*: a cluster over both thresholds becomes a rule, unless the same rule exists. A rule of
///   the opposite sense has lost its trust before.
///
/// Dreaming again at the same instant changes nothing more.
pub fn dream(megrams: &[Megram], now: Moment) -> DreamChanges {
    let mut dream = DreamChanges::default();
    let mut left = megrams.to_vec();
    forget(&mut left, &mut dream, now);
    loop {
        let lost = bankrupt(&left, now);
        if lost.is_empty() {
            break;
        }
        // Their contribution as knowledge may change the evidence about others.
        for megram in left.iter_mut().filter(|megram| lost.contains(&megram.id)) {
            demote(megram);
        }
        dream.demote.extend(lost);
    }
    dream.promote = new_rules(&left, now);
    dream.forget.sort_unstable();
    dream.demote.sort_unstable();
    dream
}

impl DreamChanges {
    /// True if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.forget.is_empty() && self.demote.is_empty() && self.promote.is_empty()
    }

    /// Returns the memory after the changes.
    #[must_use]
    pub fn apply_to(&self, megrams: &[Megram]) -> Vec<Megram> {
        let stays = |megram: &&Megram| self.forget.binary_search(&megram.id).is_err();
        let mut megrams_left: Vec<Megram> = megrams.iter().filter(stays).cloned().collect();
        for megram in &mut megrams_left {
            if self.demote.binary_search(&megram.id).is_ok() {
                demote(megram);
            }
        }
        megrams_left.extend(self.promote.iter().cloned());
        megrams_left
    }
}

fn demote(rule_megram: &mut Megram) {
    rule_megram.level = MegramLevel::Knowledge;
    rule_megram.k = DEMOTED_K;
}

/// Removes the clusters that have faded. The attention is compared as it is shown, to a hundredth, like the
/// numbers of the source: else a `refine`, which begins with exactly 0.10, would be gone an instant later.
fn forget(megrams: &mut Vec<Megram>, dream: &mut DreamChanges, now: Moment) {
    let is_faded = |attention: f64| (attention * 100.0).round() / 100.0 < FORGOTTEN;
    let faded = |(tags, cluster): (&MegramTags, Vec<&Megram>)| {
        let MemoryPotentials { attention, .. } = potentials(cluster, now);
        is_faded(attention).then(|| tags.clone())
    };
    let faded: BTreeSet<MegramTags> = clusters(megrams).into_iter().filter_map(faded).collect();
    megrams.retain(|megram| {
        let stays = match megram.level {
            // No evidence keeps a claim.
            MegramLevel::Claim => !is_faded(share(megram, now).attention),
            level => !level.fades() || !faded.contains(&megram.tags),
        };
        if !stays {
            dream.forget.push(megram.id);
        }
        stays
    });
}

/// Returns the rules the evidence contradicts.
fn bankrupt(megrams: &[Megram], now: Moment) -> BTreeSet<Sha256Digest> {
    let mut lost = BTreeSet::new();
    for cluster in clusters(megrams).into_values() {
        let MemoryPotentials { decision, .. } = potentials(cluster.iter().copied(), now);
        let contradicted =
            |rule_megram: &Megram| rule_megram.sense().is_some_and(|sense| sense.is_contradicted(decision));
        let rules = cluster.into_iter().filter(|megram| contradicted(megram));
        lost.extend(rules.map(|rule| rule.id));
    }
    lost
}

/// Returns the rules that are certain and do not exist yet.
fn new_rules(megrams: &[Megram], now: Moment) -> Vec<Megram> {
    let mut made = Vec::new();
    for (tags, cluster) in clusters(megrams) {
        let Some(sense) = certain_sense(&potentials(cluster.iter().copied(), now)) else {
            continue;
        };
        if !cluster.iter().any(|one| one.sense() == Some(sense)) {
            let evidence: Vec<&Megram> = cluster.into_iter().filter(|one| one.level.is_evidence()).collect();
            made.push(make_rule(tags, &evidence, sense, now));
        }
    }
    made
}

/// Returns the sense of a cluster, if it is certain.
fn certain_sense(potentials: &MemoryPotentials) -> Option<RuleSense> {
    if potentials.attention < ATTENTION_OF_A_RULE {
        None
    } else if potentials.decision >= DECISION_OF_A_RULE {
        Some(RuleSense::BestPractice)
    } else if potentials.decision <= -DECISION_OF_A_RULE {
        Some(RuleSense::Constraint)
    } else {
        None
    }
}
