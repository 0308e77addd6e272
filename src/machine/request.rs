//! What a planner is told.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::measure::Measured;
use super::proposal::sketch;
use super::state::{ItemSlot, Spot};
use super::{Advice, IntentAdvice, Machine, Round, state};
use crate::digest::Digest;
use crate::model::{Class, Plan, StepIx};
use crate::name::{Name, PlanId};

/// The version of a request.
const VERSION: u32 = 1;

/// What a planner is told, on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanRequest {
    /// The version of the request: 1. Within a version keys are only added.
    pub version: u32,
    /// The plan as it is now.
    pub plan: PlanState,
    /// What it is for.
    pub intent: Intent,
    /// The round that ended, and that no declared way is left after.
    pub round: Round,
    /// What does not hold.
    pub gap: Vec<Missing>,
    /// What may not be used.
    pub must_not: MustNot,
    /// The rounds before, oldest first.
    pub history: Vec<Round>,
    /// The steps that can be done otherwise, each as it is done now: in the language's own words,
    /// with `step`, `way` (absent: as it is written) and `ways`: the ids that are taken.
    pub steps: Vec<Value>,
}

/// A plan as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanState {
    /// Its id.
    pub id: PlanId,
    /// The digest of all ways to do its steps: it changes with every way that a planner adds.
    pub digest: Digest,
}

/// What a plan is for, in its own words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Intent {
    /// Its title; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its description, and its prose that belongs to no step.
    pub description: String,
    /// What memory says about how runs of it ended; absent: too little is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<IntentAdvice>,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Missing {
    /// The step; absent: the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Name>,
    /// The item, where the step is repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// The criterion; absent: the work itself failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion: Option<Name>,
    /// What was expected, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What was found, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub found: String,
    /// Whose fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
}

/// What may not be used any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MustNot {
    /// Tools, sorted.
    pub tools: Vec<String>,
    /// Targets, sorted.
    pub targets: Vec<String>,
    /// Classes of tools, sorted: those that were used in this run, where `break_symmetry` is
    /// ordered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// What memory says to avoid, as it was when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<Constraint>,
}

/// A tool that is to be avoided, on what it is used on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Constraint {
    /// The tool.
    pub tool: String,
    /// The target; absent: where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The digest of a plan as it is carried out: of the name of each of its steps and of all ways to
/// do it. What a planner adds changes it, and nothing else that a run does.
pub(super) fn digest(plan: &Plan) -> Digest {
    let steps = plan.steps().iter().map(|step| {
        let ways = (0..step.ways()).filter_map(|way| Some((step.way_id(way), step.way(way)?)));
        let ways: Vec<Value> = ways.map(|(id, way)| json!([id, sketch(way)])).collect();
        json!([step.id, ways])
    });
    let steps: Vec<Value> = steps.collect();
    Digest::of(json!([plan.id(), steps]).to_string().as_bytes())
}

impl Machine {
    /// What a planner is told about a round after which no declared way is left.
    pub(super) fn plan_request(&self, measured: &Measured, round: Round) -> PlanRequest {
        let parts = self.base.parts();
        let steps = self.can_change(measured).into_iter();
        PlanRequest {
            version: VERSION,
            plan: PlanState {
                id: parts.id.clone(),
                digest: digest(&self.base),
            },
            intent: Intent {
                title: parts.title.clone(),
                description: parts.briefing.clone(),
                memory: self.state.control.intent.clone(),
            },
            gap: self.gap(measured),
            must_not: self.must_not(&round),
            round,
            history: self.state.control.history.clone(),
            steps: steps.map(|step| self.told_step(step)).collect(),
        }
    }

    /// What may not be used after a round.
    fn must_not(&self, round: &Round) -> MustNot {
        let advice = self.state.control.advice.iter();
        let avoided = advice.filter(|said| said.advice == Advice::Avoid);
        let avoid = avoided.map(|said| Constraint {
            tool: said.tool.clone(),
            target: said.target.clone(),
        });
        MustNot {
            tools: round.blocked_tools.clone(),
            targets: round.blocked_targets.clone(),
            classes: (self.used_classes(round.solved.directive).into_iter()).collect(),
            avoid: avoid.collect(),
        }
    }

    /// A step as it is done now.
    fn told_step(&self, step: u32) -> Value {
        let written = self.base.step(StepIx(step));
        let way = self.state.control.way(step) as usize;
        let mut told = written.way(way).map_or_else(|| json!({}), sketch);
        let taken: Vec<&Name> = (1..written.ways())
            .filter_map(|way| written.way_id(way))
            .collect();
        told["step"] = json!(written.id);
        told["tool"] = json!(written.tool(way));
        told["ways"] = json!(taken);
        if let Some(id) = written.way_id(way) {
            told["way"] = json!(id);
        }
        told
    }

    /// What does not hold: of the steps that failed, then of the plan.
    fn gap(&self, measured: &Measured) -> Vec<Missing> {
        let mut gap = Vec::new();
        for (step, _) in &measured.failing {
            let slot = self.state.slot(*step);
            let places: Vec<(Option<u32>, &ItemSlot)> = match &slot.many {
                Some(many) => (0..).map(Some).zip(&many.slots).collect(),
                None => vec![(None, &slot.once)],
            };
            for (item, place) in places {
                gap.extend(self.missing(Spot { step: *step, item }, place));
            }
        }
        let refuted = self.state.control.refuted.iter();
        gap.extend(refuted.map(|(criterion, class)| Missing {
            step: None,
            item: None,
            criterion: Some(criterion.clone()),
            expected: String::new(),
            found: String::new(),
            class: *class,
        }));
        gap
    }

    fn missing(&self, spot: Spot, place: &ItemSlot) -> Vec<Missing> {
        let Some(tries) = place.own_tries() else {
            return Vec::new();
        };
        let blank = Missing {
            step: Some(state::place(&self.plan, spot).step),
            item: spot.item,
            criterion: None,
            expected: String::new(),
            found: tries.exit.clone().unwrap_or_default(),
            class: tries.class,
        };
        if tries.failed.is_empty() {
            return vec![blank];
        }
        let unmet = tries.failed.iter().map(|unmet| Missing {
            criterion: Some(unmet.criterion.clone()),
            expected: unmet.expected.clone(),
            found: unmet.found.clone(),
            class: unmet.class,
            ..blank.clone()
        });
        unmet.collect()
    }
}
