//! What memory says about the ways of a plan's steps, and what a run makes of it when it begins
//! (artoo v0.8, R2, memory action mapping): what is to be avoided must not be used, and what is to
//! be exploited comes first among other ways.

use serde::{Deserialize, Serialize};

use super::actuator::kind;
use super::{Change, Fact, Machine};
use crate::model::{Step, StepIx};

/// What memory says about a tool, and what it is used on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Advised {
    /// The tool.
    pub tool: String,
    /// The target; absent: what it is used on is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// What to do.
    pub advice: Advice,
    /// How much is known: attention, from 0.
    pub attention: f64,
    /// Which way it points: decision, for or against.
    pub decision: f64,
}

/// What memory says about the intent of a plan: how runs of it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IntentAdvice {
    /// The slug of the intent: the first three words of the plan's title.
    pub slug: String,
    /// What follows for a planner. By itself it changes nothing: memory makes no plan impossible.
    pub advice: Advice,
    /// How much is known: attention, from 0.
    pub attention: f64,
    /// Which way it points: decision, for or against.
    pub decision: f64,
}

/// What to do with a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// It must not be used.
    Avoid,
    /// It comes first among other ways.
    Exploit,
    /// It was tried, and nothing certain came of it.
    Caution,
}

impl Advice {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Avoid => "avoid",
            Self::Exploit => "exploit",
            Self::Caution => "caution",
        }
    }
}

/// What is said about a way of a step.
pub(super) fn about<'a>(advice: &'a [Advised], step: &Step, way: u32) -> Option<&'a Advised> {
    let (tool, target) = (step.tool(way as usize), step.target(way as usize));
    let same = |one: &&Advised| one.tool == tool && one.target.as_deref() == target;
    advice.iter().find(same)
}

/// Whether a way must not be used. Memory makes no step impossible: where every way is to be
/// avoided, none is.
pub(super) fn is_avoided(advice: &[Advised], step: &Step, way: u32) -> bool {
    let avoid = |way| about(advice, step, way).is_some_and(|one| one.advice == Advice::Avoid);
    avoid(way) && !(0_u32..).take(step.ways()).all(avoid)
}

/// Whether a way comes first among others.
pub(super) fn is_liked(advice: &[Advised], step: &Step, way: u32) -> bool {
    about(advice, step, way).is_some_and(|one| one.advice == Advice::Exploit)
}

impl Machine {
    /// Takes in what memory says, before anything begins: a step whose written way is to be
    /// avoided begins in another one.
    pub(super) fn advised(&mut self, advice: Vec<Advised>, intent: Option<IntentAdvice>) {
        let nothing = advice.is_empty() && intent.is_none();
        if nothing || self.plan.parts().replan.is_none() {
            return;
        }
        let main = u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX);
        let changes = (0..main).filter_map(|step| self.begins_otherwise(step, &advice));
        let changes = changes.collect();
        self.emit(Fact::MemoryAdvised {
            intent,
            advice,
            changes,
        });
    }

    fn begins_otherwise(&self, step: u32, advice: &[Advised]) -> Option<Change> {
        let written = self.base.step(StepIx(step));
        // What was taken over from an earlier run is not done in any way.
        let over = self.state.slot(step).state.is_final();
        if over || !is_avoided(advice, written, 0) {
            return None;
        }
        let others = (1_u32..).take(written.alternatives.len());
        let open = others.filter(|way| !is_avoided(advice, written, *way));
        let way = open.min_by_key(|way| (!is_liked(advice, written, *way), *way))?;
        Some(Change {
            step: written.id.clone(),
            kind: kind(written, (0, way), &std::collections::BTreeSet::new()),
            from: None,
            to: written.way_id(way as usize).cloned(),
            tool: written.tool(way as usize),
            target: written.target(way as usize).map(str::to_owned),
        })
    }
}
