//! The plan that all strategies are given: three steps, each with five ways to be done.

use std::{fmt::Write as _, sync::Arc};

use wf_app::config::WorkspaceConfig;
use wf_lang::{self as lang, InMemoryFiles};
use wf_model::{Plan, Step};

use super::{SECONDS, strategy::Strategy};

/// The steps, each with two tools, two targets and two checks.
pub const STEPS: [[&str; 7]; 3] = [
    ["fetch", "curl", "git", "mirror_a", "mirror_b", "whole", "signed"],
    ["build", "make", "ninja", "cache_a", "cache_b", "compiles", "tested"],
    ["publish", "rsync", "scp", "host_a", "host_b", "served", "same"],
];

/// A way to do a step: with which tool, on which target, with which parameter; 0 is as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub tool: usize,
    pub target: usize,
    pub level: usize,
}

/// The other ways, each with the name of its alternative.
const OTHERS: [(&str, Way); 4] = [
    ("other_level", way(0, 0, 1)),
    ("other_target", way(0, 1, 0)),
    ("other_tool", way(1, 0, 0)),
    ("other_tool_and_target", way(1, 1, 0)),
];

const fn way(tool: usize, target: usize, level: usize) -> Way {
    Way { tool, target, level }
}

/// The order in which the other ways are declared: nobody knows which fault will come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order([usize; 4]);

impl Order {
    /// One of the 24 orders.
    pub fn of(mut roll: u64) -> Self {
        let mut order = [0, 1, 2, 3];
        for at in (1..order.len()).rev() {
            let most = at as u64 + 1;
            order.swap(at, usize::try_from(roll % most).unwrap_or(0));
            roll /= most;
        }
        Self(order)
    }

    /// All ways, as the plan declares them: the step as it is written comes first.
    pub fn ways(self) -> impl Iterator<Item = Way> {
        let others = self.0.into_iter().map(|at| OTHERS[at].1);
        std::iter::once(way(0, 0, 0)).chain(others)
    }
}

/// The way in which a step is done now.
pub fn way_of(step: usize, done: &Step) -> Way {
    let [_, _, tool, _, target, ..] = STEPS[step];
    let level = done.env.first().map(|level| level.value.source());
    way(
        usize::from(done.tool.as_deref() == Some(tool)),
        usize::from(done.target.as_deref() == Some(target)),
        usize::from(level == Some("1")),
    )
}

/// Reads the plan of a strategy, as a person would write it.
pub fn load(strategy: Strategy, order: Order, attempts: u32) -> Arc<Plan> {
    let text = text(strategy, order, attempts);
    let mut files = InMemoryFiles::default();
    files.0.insert("plan.md".into(), text.clone().into_bytes());
    let mut loaded = lang::load(&files, "plan.md");
    wf_lang::check::check(&mut loaded);
    assert!(loaded.diagnostics.is_empty(), "{text}\n{loaded:#?}");
    lang::lower(&loaded, &WorkspaceConfig::default().defaults).expect("it has no mistakes")
}

fn text(strategy: Strategy, order: Order, attempts: u32) -> String {
    let mut text = String::from("---\nkind: plan\nid: deliver\n");
    let budget = format!("max_attempts: {attempts}, max_wall_time_seconds: {SECONDS}, reserve: 0");
    let _ = writeln!(text, "budget: {{{budget}}}");
    if let Some(replan) = strategy.replan() {
        let _ = writeln!(text, "replan: {replan}");
    }
    text.push_str("steps:\n");
    let mut before = "";
    for [id, tool, other_tool, target, other_target, first, second] in STEPS {
        let retry = strategy.retry();
        let _ = writeln!(text, "  - id: {id}\n    depends_on: [{before}]");
        let _ = writeln!(text, "    tool: {tool}\n    target: {target}");
        let _ = writeln!(text, "    env: {{LEVEL: \"0\"}}\n    run: work");
        let _ = writeln!(text, "    retry: {retry}\n    verify:");
        for check in [first, second] {
            let _ = writeln!(text, "      - {{name: {check}, run: look}}");
        }
        if strategy.replan().is_some() {
            text.push_str("    alternatives:\n");
            for at in order.0 {
                let (id, way) = OTHERS[at];
                let tool = match [tool, other_tool][way.tool] {
                    tool if strategy == Strategy::Named && way.level == 1 => format!("{tool}_1"),
                    tool => tool.to_owned(),
                };
                let target = [target, other_target][way.target];
                let level = way.level;
                let said = format!("id: {id}, tool: {tool}, target: {target}");
                let _ = writeln!(text, "      - {{{said}, env: {{LEVEL: \"{level}\"}}}}");
            }
        }
        before = id;
    }
    text.push_str("---\n");
    text
}
