//! What runs write to memory, and what memory says to a run that begins.
//!
//! The controller alone writes, by what its rounds showed, once that is durable; nobody waits for
//! it (artoo v0.8, R7, memory writes). Three things are done otherwise than there. A megram is
//! written for each way that failed, also where no target was to blame, since a wrong tool is worth
//! knowing. What held in another way than it is written is written as a success of that tool on
//! that target, since nothing else could be exploited. And a change that was ordered, and has not
//! been tried, is evidence of nothing: what is written is what the ways given up came to.

use std::collections::{BTreeMap, BTreeSet};

use crate::ggs::Directive;
use crate::machine::{Advice, Advised, Blame, Event, Fact, IntentAdvice, Round, Way};
use crate::memory::{Action, Megram, Origin, Pair, State, Tags, advise, potentials, ruled};
use crate::model::{OnStuck, Plan, Step};
use crate::name::RunId;
use crate::store::{StoreError, Which};
use crate::time::Moment;

use super::run::Ongoing;

/// The target of what says none.
const ANY: &str = "any";

/// What memory says about the ways of a plan's steps.
pub(super) fn advice(run: &Ongoing) -> Result<Vec<Advised>, StoreError> {
    let pairs = pairs(&run.plan);
    let parts = run.plan.parts();
    let planned = parts.planner.is_some() && parts.on_stuck == OnStuck::ConsultPlanner;
    if pairs.is_empty() && !planned {
        return Ok(Vec::new());
    }
    let session = &run.session;
    let (reader, now) = (session.store.reader()?, session.clock.now());
    let tools: BTreeSet<&str> = pairs.iter().map(|(_, pair)| pair.tool.as_str()).collect();
    let mut megrams = Vec::new();
    for tool in tools {
        megrams.extend(reader.memory(&Which::Space(Tags::tool(tool, ANY).space))?);
    }
    let asked: Vec<Pair> = pairs.iter().map(|(_, pair)| pair.clone()).collect();
    let said = advise(&megrams, &asked, now);
    let rules: BTreeSet<_> = said.iter().flat_map(|one| one.rules.clone()).collect();
    if !rules.is_empty() {
        drop(session.store.recall(rules.into_iter().collect(), now));
    }
    let mut avoided = Vec::new();
    if planned {
        avoided = constraints(&run.plan, reader.memory(&Which::All)?, now);
        let declared = |said: &Advised| {
            let mut ways = pairs.iter().map(|(way, _)| way);
            ways.any(|way| way.tool == said.tool && way.target == said.target)
        };
        avoided.retain(|said| !declared(said));
    }
    let known = pairs.into_iter().zip(said).filter_map(|((way, _), said)| {
        Some(Advised {
            advice: word(said.action)?,
            attention: rounded(said.attention),
            decision: rounded(said.decision),
            ..way
        })
    });
    Ok(known.chain(avoided).collect())
}

/// All that memory says to avoid, whatever the plan declares: a planner may think of any tool.
fn constraints(plan: &Plan, megrams: Vec<Megram>, now: Moment) -> Vec<Advised> {
    let mut clusters: BTreeMap<(String, String), Vec<Megram>> = BTreeMap::new();
    for megram in megrams {
        let tool = megram.tags.space.strip_prefix("tool:");
        let target = megram.tags.entity.strip_prefix("path:");
        if let Some((tool, target)) = tool.zip(target) {
            let key = (tool.to_owned(), target.to_owned());
            clusters.entry(key).or_default().push(megram);
        }
    }
    let own = format!("{}/", plan.id());
    let said = clusters
        .into_iter()
        .filter_map(|((tool, target), cluster)| {
            let pair = Pair {
                tool: tool.clone(),
                target: Some(target.clone()),
            };
            let said = advise(&cluster, &[pair], now).pop()?;
            (said.action == Action::Avoid).then(|| Advised {
                tool: tool.strip_prefix(&own).unwrap_or(&tool).to_owned(),
                target: Some(target).filter(|target| target != ANY),
                advice: Advice::Avoid,
                attention: rounded(said.attention),
                decision: rounded(said.decision),
            })
        });
    said.collect()
}

/// What memory says about the intent of a plan; `None` if too little is known.
pub(super) fn intent_advice(run: &Ongoing) -> Result<Option<IntentAdvice>, StoreError> {
    if run.plan.parts().replan.is_none() {
        return Ok(None);
    }
    let session = &run.session;
    let (reader, now) = (session.store.reader()?, session.clock.now());
    let slug = slug(&run.plan);
    let known = reader.memory(&Which::Cluster(Tags::intent(&slug)))?;
    let cluster: Vec<&Megram> = known.iter().collect();
    let sums = potentials(&known, now);
    let (action, rules) = ruled(&cluster).unwrap_or((sums.action, Vec::new()));
    if !rules.is_empty() {
        drop(session.store.recall(rules, now));
    }
    Ok(word(action).map(|advice| IntentAdvice {
        slug,
        advice,
        attention: rounded(sums.attention),
        decision: rounded(sums.decision),
    }))
}

/// The slug of a plan's intent: of its title, or its id where it has none.
fn slug(plan: &Plan) -> String {
    let title = plan.parts().title.as_deref();
    Tags::slug(title.unwrap_or(plan.id().as_str()))
}

/// The machine's word for an action; `None` where too little is known.
fn word(action: Action) -> Option<Advice> {
    match action {
        Action::Avoid => Some(Advice::Avoid),
        Action::Exploit => Some(Advice::Exploit),
        Action::Caution => Some(Advice::Caution),
        Action::Ignore => None,
    }
}

/// The ways that a controller can choose among, and what memory is asked about each.
fn pairs(plan: &Plan) -> Vec<(Advised, Pair)> {
    let parts = plan.parts();
    if parts.replan.is_none() {
        return Vec::new();
    }
    let steps = plan.steps().iter().take(parts.main);
    let mut pairs: Vec<(Advised, Pair)> = Vec::new();
    for step in steps.filter(|step| !step.alternatives.is_empty()) {
        for way in 0..step.ways() {
            let (tool, target) = (step.tool(way), step.target(way).map(str::to_owned));
            let pair = Pair {
                tool: lasting(plan, step, way),
                target: Some(target.clone().unwrap_or_else(|| ANY.into())),
            };
            let said = Advised {
                tool,
                target,
                advice: Advice::Caution,
                attention: 0.0,
                decision: 0.0,
            };
            if !pairs.iter().any(|(known, _)| *known == said) {
                pairs.push((said, pair));
            }
        }
    }
    pairs
}

/// The name that memory knows a tool by: the plan's own word for it, which plans share; else one
/// that means something in this plan alone.
fn lasting(plan: &Plan, step: &Step, way: usize) -> String {
    let said = step.way(way).and_then(|step| step.tool.clone());
    said.unwrap_or_else(|| format!("{}/{}", plan.id(), step.tool(way)))
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Writes what a durable event says to memory, and puts memory in order at the end of a run. Written twice it is there once, so that whoever
/// goes on with a run writes again what may have been lost.
pub(super) fn remember(run: &Ongoing, event: &Event) {
    if let Fact::RoundClosed(round) = &event.fact {
        let megrams = megrams(&run.plan, &run.this.id, round, event.at);
        let store = &run.session.store;
        if !megrams.is_empty() {
            drop(store.remember(megrams));
        }
        if !round.goes_on() {
            drop(store.dream(event.at));
        }
    }
}

/// What a round is remembered by.
fn megrams(plan: &Plan, run: &RunId, round: &Round, at: Moment) -> Vec<Megram> {
    // What was accepted within δ is not held against how it was done.
    let accepted = round.solved.directive == Directive::Success;
    let ways = round.ways.iter().enumerate();
    let ways = ways.filter(|(_, way)| way.failed.is_none() || !accepted);
    let ways = ways.filter_map(|(number, way)| {
        let ix = plan.find(way.step.as_str())?;
        let step = plan.step(ix);
        let at_way = (0..step.ways()).find(|at| step.way_id(*at) == way.way.as_ref());
        let tool = match at_way {
            Some(at_way) => lasting(plan, step, at_way),
            // A planner's way is in no plan as it is written.
            None if step.tool.as_ref() == Some(&way.tool) => way.tool.clone(),
            None => format!("{}/{}", plan.id(), way.tool),
        };
        let target = way.target.as_deref().unwrap_or(ANY);
        let tags = Tags::tool(&tool, target);
        let from = format!("{run} round {} way {number}", round.number);
        let origin = Origin { at, from: &from };
        let state = state(way, round.solved.directive);
        Some(Megram::new(state, tags, sentence(plan, way, round), origin))
    });
    let mut megrams: Vec<Megram> = ways.collect();
    let end = match round.solved.directive {
        Directive::Accept => Some(State::Accept),
        Directive::Success => Some(State::Success),
        _ if round.goes_on() => None,
        _ => Some(State::Abandon),
    };
    if let Some(state) = end {
        let from = format!("{run} round {}", round.number);
        let text = format!("{}: {}, {}", plan.id(), round.criteria, round.rationale);
        let origin = Origin { at, from: &from };
        megrams.push(Megram::new(state, Tags::intent(&slug(plan)), text, origin));
    }
    megrams
}

fn state(way: &Way, directive: Directive) -> State {
    match (way.failed, directive) {
        (None, Directive::Success) => State::Success,
        (None, _) if way.kind == Some(Directive::BreakSymmetry) => State::BreakSymmetry,
        (None, _) => State::Accept,
        (Some(_), Directive::Refine) => State::Refine,
        (Some(Blame::Environmental), _) => State::ChangePath,
        (Some(_), _) => State::ChangeApproach,
    }
}

fn sentence(plan: &Plan, way: &Way, round: &Round) -> String {
    let on = way.target.as_ref().map(|target| format!(" on {target}"));
    let on = on.unwrap_or_default();
    let what = match way.failed {
        None => "held".to_owned(),
        Some(blame) => format!("failed ({})", blame.as_str()),
    };
    let (step, tool, number) = (&way.step, &way.tool, round.number);
    format!(
        "step `{step}` of {} {what} with {tool}{on} in round {number}",
        plan.id()
    )
}
