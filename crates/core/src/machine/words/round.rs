//! The rounds of a plan with `replan`: their measures, their directives, and their alternatives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ggs::{Directive, SolverOutcome};
use wf_base::{keywords, name::Name};
use wf_model::FailureClass;

/// The result of a round: one pass over the graph under one directive of the controller (DESIGN
/// section 8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Round {
    /// Its number in the run; the first is 1.
    pub round: u32,
    /// The solver's result: the cost of the round and the next directive.
    #[serde(flatten)]
    pub solved: SolverOutcome,
    /// The directive after the round before; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Directive>,
    /// The number of passing criteria.
    pub checks: CriteriaCount,
    /// The first failed criterion, as `step: criterion`, or another failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<String>,
    /// The failure class of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<RoundFailureClass>,
    /// The blocked tools, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_tools: Vec<String>,
    /// The blocked targets, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_targets: Vec<String>,
    /// The findings about the alternatives in use: of failed steps, and at the end the ones that
    /// passed and are not as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<UsedAlternative>,
    /// The steps switched to another alternative, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<AlternativeSwitch>,
    /// The reopened steps, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<Name>,
    /// The steps people are asked about, since nothing else is left to try (`on_stuck: escalate`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalated: Vec<Name>,
    /// The reason why the controller tries nothing more although another round was ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The rationale, in one sentence.
    pub rationale: String,
}

/// Removes from rounds in JSON, one or a list, what follows from how long they took: a replay takes another time, and must
/// ask and find the same.
pub fn forget_round_time(rounds: &mut Value) {
    match rounds {
        Value::Array(rounds) => rounds.iter_mut().for_each(forget_round_time),
        Value::Object(round) => {
            round.retain(|key, _| !matches!(key.as_str(), "gradient" | "rationale"));
            if let Some(loss) = round.get_mut("loss").and_then(Value::as_object_mut) {
                loss.retain(|key, _| !matches!(key.as_str(), "omega" | "l"));
            }
        }
        _ => {}
    }
}

/// The number of passing criteria.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CriteriaCount {
    /// The passing criteria.
    pub passed: u32,
    /// All criteria.
    pub total: u32,
}

/// A switch of a step to another alternative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AlternativeSwitch {
    /// The step.
    pub step: Name,
    /// The kind of change.
    pub kind: Directive,
    /// The failed alternative; absent: the step as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Name>,
    /// The next alternative; absent: the step as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Name>,
    /// The tool now in use.
    pub tool: String,
    /// The target now in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

keywords! {
    /// The failure class of a round.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RoundFailureClass {
        /// The approach is wrong.
        Logical = "logical",
        /// The environment is in the way.
        Environmental = "environmental",
        /// Both.
        Mixed = "mixed",
        /// A sensor, a provider or the budget failed, or an attempt was interrupted: no evidence about the work.
        Engine = "engine",
    }
}

/// The failures of a run, a step or a round, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FailureTally {
    /// Failures of the approach.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub logical: u32,
    /// Failures of the environment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub environmental: u32,
    /// Failures of the engine, irrelevant to the work, and interruptions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub engine: u32,
}

impl FailureTally {
    /// Counts a failure; one without a class is of none.
    pub fn add(&mut self, failure_class: Option<FailureClass>) {
        let count = match failure_class {
            Some(FailureClass::Logical) => &mut self.logical,
            Some(FailureClass::Environmental) => &mut self.environmental,
            Some(FailureClass::Engine | FailureClass::Interrupted) => &mut self.engine,
            None => return,
        };
        *count = count.saturating_add(1);
    }

    /// Counts the failures of a nested run.
    pub fn add_all(&mut self, inside: Self) {
        self.logical = self.logical.saturating_add(inside.logical);
        self.environmental = self.environmental.saturating_add(inside.environmental);
        self.engine = self.engine.saturating_add(inside.engine);
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the class of what failed by all of them: the approach, if one is due to it; else the environment, if one
    /// is; else the engine. What failed by none is wrong.
    pub fn class(self) -> FailureClass {
        match self {
            Self { logical: 0, environmental: 0, engine: 1.. } => FailureClass::Engine,
            Self { logical: 0, environmental: 1.., .. } => FailureClass::Environmental,
            _ => FailureClass::Logical,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl RoundFailureClass {
    /// Returns the class of failures. Those of the engine count only where there are no others.
    pub(in crate::machine) fn of(failures: FailureTally) -> Option<Self> {
        match (failures.logical, failures.environmental) {
            (0, 0) => (failures.engine > 0).then_some(Self::Engine),
            (_, 0) => Some(Self::Logical),
            (0, _) => Some(Self::Environmental),
            _ => Some(Self::Mixed),
        }
    }
}

/// The reason why the controller has nothing left to try: the planner, if there is one, was asked, and people come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundExhaustion {
    /// No alternative is left.
    Alternatives {
        /// True if a planner was asked, and gave nothing usable.
        was_planned: bool,
    },
    /// All re-planning rounds, or the budget for them, are used.
    Rounds,
    /// A step for a decision of people has failed.
    Decision,
    /// The loss forbids another round: the budget is spent, or every round made it worse.
    Loss,
}

impl Round {
    /// Returns the reason why nothing more is tried, although the result is not accepted; `None` if the run was
    /// accepted, or goes on.
    pub fn exhaustion(&self) -> Option<RoundExhaustion> {
        if !self.escalated.is_empty() {
            return None;
        }
        match &self.stop_reason {
            Some(reason) if reason.starts_with(NO_ALTERNATIVE_LEFT) => {
                let was_planned = reason.len() > NO_ALTERNATIVE_LEFT.len();
                Some(RoundExhaustion::Alternatives { was_planned })
            }
            Some(reason) if reason.starts_with(NOT_APPROVED) => Some(RoundExhaustion::Decision),
            Some(_) => Some(RoundExhaustion::Rounds),
            None => (self.solved.directive == Directive::Abandon).then_some(RoundExhaustion::Loss),
        }
    }

    /// True if another round follows with a changed step, not with a question to people.
    pub fn replans(&self) -> bool {
        self.goes_on() && self.escalated.is_empty()
    }

    /// True if another round follows.
    pub fn goes_on(&self) -> bool {
        self.solved.directive.acts() && self.stop_reason.is_none() || !self.escalated.is_empty()
    }
}

impl std::fmt::Display for CriteriaCount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} criteria", self.passed, self.total)
    }
}

/// An alternative used for a step, and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsedAlternative {
    /// The step.
    pub step: Name,
    /// The alternative; absent: the step as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<Name>,
    /// The tool.
    pub tool: String,
    /// The target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The calls made in the round: the true actions, behind any name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// The first failed criterion, of the step or in its nested plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<String>,
    /// The failure class; absent: it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<RoundFailureClass>,
    /// The kind of the last change; absent: the step began so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Directive>,
}

/// The findings of a nested run: its failures, and, for the rounds of a run around it, its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NestedFindings {
    /// The failures in it, by class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<FailureTally>,
    /// The calls of its steps in its last round: `run:PROGRAM`, `fetch:HOST`, `agent:ROLE`, `skill:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// The first failed criterion in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_check: Option<String>,
}

/// The reason why a run ends although another round was ordered: no declared alternative is left.
pub const NO_ALTERNATIVE_LEFT: &str = "no alternative is left";

/// The reason why a run ends although another round was ordered: a step for a decision of people has failed.
pub const NOT_APPROVED: &str = "no round asks again";
