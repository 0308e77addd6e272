use std::{cmp::Reverse, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    agent::word::has_word,
    calls::approach_of,
    memory::{Megram, MegramTags, MemoryAction, ToolTarget, advise, clusters},
};
use wf_base::time::Moment;
use wf_model::{Plan, Step, StepWork};

/// The maximum number of entries.
const MOST_ENTRIES: usize = 10;

/// The maximum length of a reason, in characters.
const REASON_CHARS: usize = 200;

/// The length of the shortest keyword, in characters.
const SHORTEST: usize = 3;

/// The words that say nothing about a task.
const STOP_WORDS: [&str; 12] =
    ["all", "and", "any", "are", "for", "from", "into", "not", "that", "the", "this", "with"];

/// The knowledge of memory that binds a planner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MemoryCalibration {
    /// The tools that a plan must not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_not: Vec<CalibrationEntry>,
    /// The tools that a plan should prefer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub should_prefer: Vec<CalibrationEntry>,
}

/// A task, as memory looks for what it knows about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibrationTask<'a> {
    /// Words about it.
    pub words: &'a str,
    /// The slug of its intent.
    pub intent: Option<&'a str>,
}

/// The knowledge about one tool on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CalibrationEntry {
    /// The tool.
    pub tool: String,
    /// The target; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The newest record about it.
    pub reason: String,
}

/// An entry, and its rank.
struct RankedEntry {
    entry: CalibrationEntry,
    action: MemoryAction,
    overlap: usize,
    newest: Moment,
}

impl MemoryCalibration {
    /// Selects the knowledge that has keywords in common with a task: the entries with most of them, of equal ones
    /// the newest. What is known of tools for one intent is told for that intent alone; of two entries about one tool,
    /// the first counts.
    pub fn select(megrams: &[Megram], task: &CalibrationTask<'_>, now: Moment) -> Self {
        let wanted = keywords(task.words);
        let clusters = clusters(megrams).into_iter();
        let mut ranked: Vec<RankedEntry> =
            clusters.filter_map(|(tags, cluster)| rank(tags, &cluster, &wanted, task.intent, now)).collect();
        ranked.sort_by_key(|one| Reverse((one.overlap, one.newest)));
        let mut told = BTreeSet::new();
        ranked.retain(|one| told.insert((one.entry.tool.clone(), one.entry.target.clone())));
        ranked.truncate(MOST_ENTRIES);
        let mut calibration = Self::default();
        for RankedEntry { entry, action, .. } in ranked {
            match action {
                MemoryAction::Avoid => calibration.must_not.push(entry),
                _ => calibration.should_prefer.push(entry),
            }
        }
        calibration
    }

    /// True if memory knows nothing about the task.
    pub fn is_empty(&self) -> bool {
        self.must_not.is_empty() && self.should_prefer.is_empty()
    }

    /// Returns the section about it for a planner; empty if nothing is known.
    pub(crate) fn section(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let forbidden = self.must_not.iter().map(|entry| ("MUST NOT use", entry));
        let preferred = self.should_prefer.iter().map(|entry| ("SHOULD PREFER", entry));
        let entries = forbidden.chain(preferred);
        let lines = entries.map(|(verb, entry)| format!("- {verb} {entry}: {}\n", entry.reason));
        format!("\n## Memory\n\n{}", lines.collect::<String>())
    }

    /// Returns the first forbidden use in a plan, as a sentence: as a declared tool, or by name in a script or an
    /// argument.
    pub fn first_forbidden(&self, plan: &Plan) -> Option<String> {
        let uses =
            plan.steps().iter().flat_map(|step| (0..step.alternative_count()).map(move |way| (step, way)));
        let mut found = uses.flat_map(|(step, way)| {
            let forbidding = self.must_not.iter().filter(move |entry| entry.is_used(step, way));
            forbidding.map(move |entry| {
                format!("step `{}` uses {entry}, which memory forbids: {}", step.id, entry.reason)
            })
        });
        found.next()
    }
}

impl CalibrationEntry {
    /// True if a step uses it in an alternative: as its tool, by what it does, or by name in a script or an argument. A name known to one
    /// plan alone, `PLAN/NAME`, may be a planner's, and is told without effect.
    pub(crate) fn is_used(&self, step: &Step, way: usize) -> bool {
        let is_tool = step.tool(way) == self.tool || approach_of(step, way).as_ref() == Some(&self.tool);
        let is_target = |target: &String| step.target(way) == Some(target);
        let is_declared = is_tool && self.target.as_ref().is_none_or(is_target);
        let text = step.with_alternative(way).map(|step| texts(&step.work)).unwrap_or_default();
        let is_named = has_word(&text, &self.tool);
        is_declared || is_named && self.target.as_ref().is_none_or(|target| text.contains(target.as_str()))
    }
}

impl std::fmt::Display for CalibrationEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the tool `{}`", self.tool)?;
        match &self.target {
            Some(target) => write!(f, " on `{target}`"),
            None => Ok(()),
        }
    }
}

/// Returns the entry of a cluster; `None` if it is about no tool, has no keyword of the task, or advises nothing.
fn rank(
    tags: &MegramTags,
    cluster: &[&Megram],
    wanted: &BTreeSet<String>,
    intent: Option<&str>,
    now: Moment,
) -> Option<RankedEntry> {
    let (tool, target) = tags.as_tool(intent)?;
    let (_, subject) = tags.entity.split_once(':')?;
    let newest = cluster.iter().max_by_key(|megram| megram.created)?;
    let contents = cluster.iter().map(|megram| megram.content.as_str());
    let mut known = keywords(&format!("{tool} {subject}"));
    contents.for_each(|content| known.extend(keywords(content)));
    let overlap = known.intersection(wanted).count();
    let pair = ToolTarget { tool: tool.into(), entity: Some(tags.entity.clone()) };
    let megrams: Vec<Megram> = cluster.iter().map(|megram| (*megram).clone()).collect();
    let action = advise(&megrams, &[pair], now).pop()?.action;
    let is_advice = matches!(action, MemoryAction::Avoid | MemoryAction::Exploit);
    let entry = CalibrationEntry {
        tool: tool.into(),
        target: target.map(str::to_owned),
        reason: newest
            .content
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(REASON_CHARS)
            .collect(),
    };
    (overlap > 0 && is_advice).then_some(RankedEntry { entry, action, overlap, newest: newest.created })
}

fn keywords(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() >= SHORTEST && !STOP_WORDS.contains(&word.as_str())).collect()
}

/// Returns the script or the arguments of a step.
fn texts(work: &StepWork) -> String {
    let templates = work.templates().into_iter().map(|template| template.source().to_owned());
    let script = match work {
        StepWork::Run(script) => Some(script.text.clone()),
        _ => None,
    };
    script.into_iter().chain(templates).collect::<Vec<_>>().join("\n")
}
