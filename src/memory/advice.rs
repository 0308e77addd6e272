use serde::Serialize;

use super::tags::tool_space;
use super::{Action, Megram, Potentials, Sense, Tags, potentials};
use crate::digest::Digest;
use crate::time::Moment;

/// A tool, and what it would be used on; `None`: the tool by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The name of the tool.
    pub tool: String,
    /// The target.
    pub target: Option<String>,
}

/// What memory says about a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The tool.
    pub tool: String,
    /// The target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What to do: what the rules say, else what follows from the potentials.
    pub action: Action,
    /// How much is known.
    pub attention: f64,
    /// Which way it points.
    pub decision: f64,
    /// The rules that decided, by id: who follows the advice recalls them. A constraint goes before
    /// a best practice.
    pub rules: Vec<Digest>,
}

/// What memory says about tools and targets, one answer for each pair, in their order (artoo v0.8,
/// R2, memory action mapping).
///
/// The evidence about a pair is the cluster `tool:TOOL path:TARGET`. About a tool by itself it is all
/// clusters of `tool:TOOL` together; a rule about one target is none about the tool.
pub fn advise(megrams: &[Megram], pairs: &[Pair], now: Moment) -> Vec<Advice> {
    pairs.iter().map(|pair| one(megrams, pair, now)).collect()
}

fn one(megrams: &[Megram], pair: &Pair, now: Moment) -> Advice {
    let space = tool_space(&pair.tool);
    let tags = pair
        .target
        .as_ref()
        .map(|target| Tags::tool(&pair.tool, target));
    let about = |megram: &&Megram| match &tags {
        Some(tags) => megram.tags == *tags,
        None => megram.tags.space == space,
    };
    let evidence: Vec<&Megram> = megrams.iter().filter(about).collect();
    let Potentials {
        attention,
        decision,
        action,
    } = potentials(evidence.iter().copied(), now);
    // A rule about one target is none about the tool.
    let said = tags.and_then(|_| ruled(&evidence));
    let (action, rules) = said.unwrap_or((action, Vec::new()));
    Advice {
        tool: pair.tool.clone(),
        target: pair.target.clone(),
        action,
        attention,
        decision,
        rules,
    }
}

/// What the rules of a cluster say, and which they are, by id; `None` if it has none. A constraint
/// goes before a best practice: what must not be done is not preferred.
pub fn ruled(cluster: &[&Megram]) -> Option<(Action, Vec<Digest>)> {
    let rules = |sense| {
        let rules = cluster.iter().filter(|one| one.sense() == Some(sense));
        let mut rules: Vec<Digest> = rules.map(|rule| rule.id).collect();
        rules.sort_unstable();
        rules
    };
    let both = [
        (Action::Avoid, rules(Sense::Constraint)),
        (Action::Exploit, rules(Sense::BestPractice)),
    ];
    both.into_iter().find(|(_, rules)| !rules.is_empty())
}
