//! The advice of memory, explained: the evidence of each cluster today, and the rules that override it.

use serde_json::{Value, json};

use wf_base::time::Moment;
use wf_core::memory::{
    Megram, MegramTags, MemoryAction, MemoryPotentials, clusters, potentials, ruled_action, share,
};

/// The knowledge about a cluster.
#[derive(Debug)]
pub struct ClusterKnowledge<'a> {
    pub tags: &'a MegramTags,
    /// The number of megrams in evidence.
    pub megrams: usize,
    /// The sums of their evidence.
    pub sums: MemoryPotentials,
    /// The action by the rules, if there are any.
    pub rule_action: Option<MemoryAction>,
}

/// Returns the knowledge about each cluster of megrams, by its tags.
pub fn cluster_knowledge(megrams: &[Megram], now: Moment) -> Vec<ClusterKnowledge<'_>> {
    let clusters = clusters(megrams).into_iter();
    let knowledge = clusters.map(|(tags, cluster)| ClusterKnowledge {
        tags,
        megrams: cluster.iter().filter(|megram| megram.level.is_evidence()).count(),
        sums: potentials(cluster.iter().copied(), now),
        rule_action: ruled_action(&cluster).map(|(action, _)| action),
    });
    // A law by itself says nothing about a tool and a target.
    knowledge.filter(|cluster| cluster.megrams > 0 || cluster.rule_action.is_some()).collect()
}

impl ClusterKnowledge<'_> {
    /// Returns the advised action, and its source.
    pub fn advice(&self) -> (MemoryAction, &'static str) {
        match self.rule_action {
            Some(action) => (action, "rule"),
            None => (self.sums.action, "evidence"),
        }
    }

    /// Returns it as a document.
    pub fn json(&self) -> Value {
        let (action, by) = self.advice();
        json!({
            "space": self.tags.space,
            "entity": self.tags.entity,
            "action": action,
            "by": by,
            "megrams": self.megrams,
            "attention": self.sums.attention,
            "decision": self.sums.decision,
        })
    }
}

/// Explains the advice from a cluster: the share of each megram, their sums, and the rules that override them.
pub fn cluster_explanation(megrams: &[Megram], now: Moment) -> Value {
    let potentials = potentials(megrams, now);
    let cluster: Vec<&Megram> = megrams.iter().collect();
    let ruled = ruled_action(&cluster);
    let megram_json = |megram: &Megram| {
        let share = share(megram, now);
        json!({
            "megram": megram,
            "days": share.days,
            "attention": share.attention,
            "decision": share.decision,
        })
    };
    json!({
        "v": 1,
        "megrams": megrams.iter().map(megram_json).collect::<Vec<Value>>(),
        "attention": potentials.attention,
        "decision": potentials.decision,
        "evidence": potentials.action.as_str(),
        "because": potentials.action.table_row(),
        "action": ruled.as_ref().map_or(potentials.action, |(decided, _)| *decided).as_str(),
        "rules": ruled.map(|(_, rules)| rules),
    })
}
