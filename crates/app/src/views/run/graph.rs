use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Serialize;

use super::view::RunScope;
use crate::CommandError;
use wf_base::{name::Name, time::Moment};
use wf_core::machine::{ChildId, Round};
use wf_model::{
    Plan,
    graph::{StepGraph, export},
};
use wf_report::{
    draw::{FoldedSketch, PlanSketch, critical_path, fold, page_svg},
    record::RunRecord,
};
use wf_store::{ItemGroup, StepTimes};

/// The most steps of an unfolded picture; a larger one is unreadable.
const MAX_DRAWN_STEPS: usize = 300;

/// The most named steps of a chain.
const MAX_NAMED_STEPS: usize = 50;

/// The plan of a run as a picture, with the states of its steps.
#[derive(Debug, Serialize)]
pub struct RunGraph {
    /// The picture, for a page.
    pub svg: String,
    /// True if a box may stand for several steps.
    pub is_folded: bool,
    /// The unfolded group of steps.
    pub open: Option<usize>,
    /// The chain of steps that took longest together, from the first to the last.
    pub critical: Vec<String>,
    /// The number of unnamed steps of that chain.
    pub more_critical: usize,
    /// The time they took, in milliseconds.
    pub critical_ms: u64,
}

/// Draws a run; of a large plan, steps following each other are one box, except in the group `open`. `None`: its plan is
/// not read.
pub(super) fn graph_of(scope: &RunScope<'_>, open: Option<usize>) -> Result<Option<RunGraph>, CommandError> {
    let Some(plan) = scope.plan else {
        return Ok(None);
    };
    let mut times = scope.store().steps().times(scope.run)?;
    add_item_times(&mut times, &scope.store().steps().item_groups(scope.run)?);
    Ok(Some(run_graph(scope, plan, &times, open)))
}

/// Returns the time that each step of a plan took.
pub(in crate::views) fn times_of(plan: &Plan, times: &[StepTimes]) -> Vec<Duration> {
    let rows: BTreeMap<&str, &StepTimes> = times.iter().map(|row| (row.step.as_str(), row)).collect();
    let time = |id: &Name| rows.get(id.as_str()).and_then(|row| time_of(row)).unwrap_or_default();
    plan.steps().iter().map(|step| time(&step.id)).collect()
}

/// Gives each repeated step the start of its first item: it has none of its own.
pub(super) fn add_item_times(times: &mut [StepTimes], groups: &[ItemGroup]) {
    let mut starts: BTreeMap<&Name, Moment> = BTreeMap::new();
    for group in groups {
        if let Some(started) = group.started {
            starts.entry(&group.step).and_modify(|first| *first = started.min(*first)).or_insert(started);
        }
    }
    for row in times {
        row.started = row.started.or_else(|| starts.get(&row.step).copied());
    }
}

/// Returns the chain of steps that took longest together.
pub(in crate::views) fn critical_steps(plan: &Plan, took: &[Duration]) -> Vec<usize> {
    let needs = plan.steps().iter().map(|step| step.depends_on.iter().map(|ix| ix.index()).collect());
    critical_path(&StepGraph::new(needs.collect()), took)
}

fn run_graph(scope: &RunScope<'_>, plan: &Plan, times: &[StepTimes], open: Option<usize>) -> RunGraph {
    let rows: BTreeMap<&str, &StepTimes> = times.iter().map(|row| (row.step.as_str(), row)).collect();
    let record = scope.record;
    let took = times_of(plan, times);
    let critical = critical_steps(plan, &took);
    let in_chain: BTreeSet<usize> = critical.iter().copied().collect();
    let run = &record.run.id;
    let (nested, marks) = (nested_runs(record), round_marks(&record.decisions.rounds));
    let mut sketch = PlanSketch::from_plan(plan, false);
    for (at, node) in sketch.nodes.iter_mut().enumerate() {
        node.state =
            rows.get(node.name.as_str()).map(|row| (record.life.shown_state(row.state), row.standing));
        node.is_critical = in_chain.contains(&at);
        node.marks.extend(marks.get(node.name.as_str()).cloned().unwrap_or_default());
        node.link = Some(match nested.get(&node.name).map(Vec::as_slice) {
            Some([child]) => format!("/runs/{child}"),
            _ => format!("/runs/{run}/steps/{}", node.name),
        });
    }
    let layout = export(plan);
    let layers: Vec<Vec<usize>> =
        layout.layers.iter().map(|layer| layer.iter().map(|ix| ix.index()).collect()).collect();
    let is_folded = plan.steps().len() > MAX_DRAWN_STEPS;
    let svg = if is_folded {
        let order: Vec<usize> = layers.concat();
        let FoldedSketch { sketch, layers } =
            fold(&sketch, &order, open, |group| format!("/runs/{run}?open={group}"));
        page_svg(&sketch, &layers, layers.len())
    } else {
        let finally = plan.steps().len() - plan.parts().main;
        page_svg(&sketch, &layers, layers.len().saturating_sub(finally))
    };
    let total: Duration = critical.iter().filter_map(|at| took.get(*at)).sum();
    let names = critical.iter().filter_map(|at| plan.steps().get(*at)).map(|step| step.id.to_string());
    RunGraph {
        svg,
        is_folded,
        open,
        more_critical: critical.len().saturating_sub(MAX_NAMED_STEPS),
        critical: names.take(MAX_NAMED_STEPS).collect(),
        critical_ms: u64::try_from(total.as_millis()).unwrap_or(u64::MAX),
    }
}

fn time_of(times: &StepTimes) -> Option<Duration> {
    times.started.zip(times.ended).map(|(started, ended)| ended.since(started))
}

/// Returns the runs nested in each step.
fn nested_runs(record: &RunRecord) -> BTreeMap<String, Vec<String>> {
    let mut nested: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for run in &record.nested {
        let attempt = run
            .attempt
            .parse::<ChildId>()
            .map_or_else(|_| run.attempt.clone(), |child| child.attempt.to_string());
        let step = attempt.split(['[', '#']).next().unwrap_or_default();
        nested.entry(step.to_owned()).or_default().push(run.record.run.id.to_string());
    }
    nested
}

/// Returns, for each step, a line for each round it runs in again, with the alternative it switches to.
fn round_marks(rounds: &[Round]) -> BTreeMap<&str, Vec<String>> {
    let mut marks: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for round in rounds {
        let next = round.round.saturating_add(1);
        let mut switched = BTreeSet::new();
        for change in &round.changes {
            let variant = change.to.as_ref().map_or("as written", Name::as_str);
            marks.entry(change.step.as_str()).or_default().push(format!("round {next}: {variant}"));
            switched.insert(&change.step);
        }
        for step in round.reopened.iter().filter(|step| !switched.contains(step)) {
            marks.entry(step.as_str()).or_default().push(format!("round {next}: again"));
        }
    }
    marks
}
