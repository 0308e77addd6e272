use serde::Serialize;

use super::{Megram, MegramTags, MemoryAction, MemoryPotentials, RuleSense, potentials, tags::tool_space};
use wf_base::{digest::Sha256Digest, time::Moment};

/// A tool, and what it would be used on; `None`: the tool by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolTarget {
    pub tool: String,
    /// The entity: a target, or an intent.
    pub entity: Option<String>,
}

impl ToolTarget {
    /// Returns a tool as a run would use it.
    pub fn of_run(tool: &str, target: Option<&str>, intent: Option<&str>) -> Self {
        let MegramTags { entity, .. } = MegramTags::tool_of_run(tool, target, intent);
        Self { tool: tool.to_owned(), entity: Some(entity) }
    }
}

/// The advice of memory on a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryAdvice {
    /// The action: by the rules, else by the potentials.
    pub action: MemoryAction,
    /// The amount of evidence.
    pub attention: f64,
    /// The direction of the evidence.
    pub decision: f64,
    /// The rules that decided, by id: following the advice recalls them. A constraint wins over a best
    /// practice.
    pub rules: Vec<Sha256Digest>,
}

/// Returns the advice of memory on tools and targets, one answer for each pair, in their order (artoo v0.8,
/// R2, memory action mapping).
///
/// The evidence about a pair is the cluster of both. About a tool by itself it is all
/// clusters of `tool:TOOL` together; a rule about one target is no rule about the tool.
pub fn advise(megrams: &[Megram], targets: &[ToolTarget], now: Moment) -> Vec<MemoryAdvice> {
    targets.iter().map(|pair| advise_pair(megrams, pair, now)).collect()
}

fn advise_pair(megrams: &[Megram], target: &ToolTarget, now: Moment) -> MemoryAdvice {
    let space = tool_space(&target.tool);
    let entity = target.entity.clone();
    let tags = entity.map(|entity| MegramTags { space: space.clone(), entity });
    let about = |megram: &&Megram| match &tags {
        Some(tags) => megram.tags == *tags,
        None => megram.tags.space == space,
    };
    let megram_evidence: Vec<&Megram> = megrams.iter().filter(about).collect();
    let MemoryPotentials { attention, decision, action } = potentials(megram_evidence.iter().copied(), now);
    // A rule about one target is no rule about the tool.
    let said = tags.and_then(|_| ruled_action(&megram_evidence));
    let (action, rules) = said.unwrap_or((action, Vec::new()));
    MemoryAdvice { action, attention, decision, rules }
}

/// Returns the action the rules of a cluster demand, and the rules by id; `None` if it has none. A constraint
/// wins over a best practice: a forbidden use is not preferred.
pub fn ruled_action(megrams: &[&Megram]) -> Option<(MemoryAction, Vec<Sha256Digest>)> {
    let rules = |sense| {
        let rules = megrams.iter().filter(|one| one.sense() == Some(sense));
        let mut rules: Vec<Sha256Digest> = rules.map(|rule| rule.id).collect();
        rules.sort_unstable();
        rules
    };
    let both = [
        (MemoryAction::Avoid, rules(RuleSense::Constraint)),
        (MemoryAction::Exploit, rules(RuleSense::BestPractice)),
    ];
    both.into_iter().find(|(_, rules)| !rules.is_empty())
}
