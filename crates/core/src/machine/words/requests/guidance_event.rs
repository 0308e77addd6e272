//! The facts about the guidance of a planner for an agent with failing attempts.

use serde::{Deserialize, Serialize};

use crate::{
    agent::authoring::{CalibrationEntry, MemoryCalibration},
    machine::words::{
        AskedModel, Attempt, AttemptFeedback, AttemptUsage, AvoidedTool, PlanIntent, PlannerReply,
        PlannerRestrictions, PreferredTool, requests::plan_request::is_named_like_step,
    },
};
use wf_base::name::PlanId;
use wf_model::Plan;

/// The planner is to be asked about the failing attempts of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuidanceStart {
    /// The last failed attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The reason for its failure.
    pub reason: String,
}

/// The planner was asked about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuidanceEnd {
    /// The last failed attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The result.
    #[serde(flatten)]
    pub outcome: GuidanceOutcome,
    /// The number of model calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u32,
    /// The amounts used by them.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedModel>,
}

/// The result of asking a planner about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum GuidanceOutcome {
    /// It gave guidance for further attempts of the round.
    Given {
        /// The guidance.
        guidance: String,
    },
    /// It gave nothing usable.
    Refused {
        /// The reason.
        reason: String,
    },
}

/// The question to a planner about the failing attempts of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuidanceRequest {
    /// The last failed attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The plan.
    pub plan: PlanId,
    /// The purpose of the plan.
    pub intent: PlanIntent,
    /// The briefing of the step.
    pub briefing: String,
    /// The tools of its agent.
    pub tools: Vec<String>,
    /// The feedback on the attempt: its failures, with their evidence, and the gaps of all attempts.
    pub feedback: AttemptFeedback,
    /// The number of rounds before.
    pub rounds: u32,
    /// The tools and targets not to be used.
    pub must_not: PlannerRestrictions,
    /// The tools preferred by memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub should_prefer: Vec<PreferredTool>,
    /// The knowledge of memory about such a task.
    #[serde(default, skip_serializing_if = "MemoryCalibration::is_empty")]
    pub calibration: MemoryCalibration,
}

impl GuidanceRequest {
    /// Returns the names kept out of guidance, with those forbidden by memory.
    pub fn all_restrictions(&self, plan: &Plan) -> PlannerRestrictions {
        let mut all = self.must_not.clone();
        let forbidden = self.calibration.must_not.iter();
        let forbidden = forbidden.filter(|entry| !is_named_like_step(plan, &entry.tool));
        all.avoid.extend(forbidden.map(AvoidedTool::from));
        all
    }

    /// Returns the words of the task for the search of memory.
    pub fn subject(&self) -> String {
        let title = self.intent.title.as_deref().unwrap_or_default();
        format!("{title} {} {} {}", self.intent.description, self.attempt.task_id.step, self.briefing)
    }
}

/// The answer of a planner about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidanceReply {
    /// The last failed attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The planner's output, or the reason why it does not count.
    pub said: PlannerReply,
    /// The tools forbidden by memory, as the planner was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_not: Vec<CalibrationEntry>,
    /// The number of model calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u32,
    /// The amounts used by them.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedModel>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(calls: &u32) -> bool {
    *calls == 0
}
