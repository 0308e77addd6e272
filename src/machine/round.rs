use serde::{Deserialize, Serialize};

use super::Way;
use crate::ggs::{Directive, Solved};
use crate::model::Class;
use crate::name::Name;

/// What was made of a round: one pass over the graph under one directive of the controller
/// (DESIGN section 8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Round {
    /// Its number in the run; the first is 1.
    pub number: u32,
    /// What it cost, and where the run goes.
    #[serde(flatten)]
    pub solved: Solved,
    /// What was ordered after the round before; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Directive>,
    /// How many of the criteria hold.
    pub criteria: Criteria,
    /// The first criterion that does not, as `step: criterion`, or what else failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Whose fault what failed is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Blame>,
    /// The tools that may not be used any more, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_tools: Vec<String>,
    /// The targets that may not be used any more, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_targets: Vec<String>,
    /// What it showed about the ways that steps were done in: those that failed, and at the end
    /// those that hold and are not as they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<Way>,
    /// What is done in another way from now on, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The steps that run again, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<Name>,
    /// Why the run ends though another round was ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// Why, in one sentence.
    pub rationale: String,
}

/// How many criteria hold.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Criteria {
    /// Those that hold.
    pub met: u32,
    /// All.
    pub of: u32,
}

/// A step that is done in another way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Change {
    /// The step.
    pub step: Name,
    /// What sort of change it is.
    pub kind: Directive,
    /// The alternative that failed; absent: the step as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Name>,
    /// The alternative that comes next; absent: the step as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Name>,
    /// What does the work now.
    pub tool: String,
    /// What it is done on now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Whose fault the failures of a round are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The approach is wrong.
    Logical,
    /// The world is in its way.
    Environmental,
    /// Both.
    Mixed,
}

impl Blame {
    /// The blame for so many failures of either sort.
    pub(super) fn of(logical: u32, environmental: u32) -> Option<Self> {
        match (logical, environmental) {
            (0, 0) => None,
            (_, 0) => Some(Self::Logical),
            (0, _) => Some(Self::Environmental),
            _ => Some(Self::Mixed),
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Logical => "logical",
            Self::Environmental => "environmental",
            Self::Mixed => "mixed",
        }
    }
}

impl Round {
    /// Whether another round follows.
    pub fn goes_on(&self) -> bool {
        self.solved.directive.acts() && self.stuck.is_none()
    }
}

/// Whether a failure is the approach's. What nobody saw the end of is the world's.
pub(super) fn is_logical(class: Class) -> bool {
    class == Class::Logical
}

impl std::fmt::Display for Criteria {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} criteria", self.met, self.of)
    }
}
