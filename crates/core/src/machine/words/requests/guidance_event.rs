//! The facts about the guidance of a planner for an agent whose attempts fail.

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

/// The planner is to be asked about a step whose attempts fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuidanceStart {
    /// The attempt that failed last.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The reason for its failure.
    pub reason: String,
}

/// The planner was asked about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuidanceEnd {
    /// The attempt that failed last.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The result.
    #[serde(flatten)]
    pub outcome: GuidanceOutcome,
    /// The number of model calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u32,
    /// The amounts that they used.
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
    /// It gave guidance, which further attempts of the round are told.
    Given {
        /// The guidance.
        guidance: String,
    },
    /// It gave none, or none that may be used.
    Refused {
        /// The reason.
        reason: String,
    },
}

/// The question to a planner about a step whose attempts fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuidanceRequest {
    /// The attempt that failed last.
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
    /// The feedback on that attempt: what failed, with its evidence, and the gaps of all attempts.
    pub feedback: AttemptFeedback,
    /// The number of rounds before.
    pub rounds: u32,
    /// The tools and targets that must not be used.
    pub must_not: PlannerRestrictions,
    /// The tools that memory prefers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub should_prefer: Vec<PreferredTool>,
    /// The knowledge of memory about such a task.
    #[serde(default, skip_serializing_if = "MemoryCalibration::is_empty")]
    pub calibration: MemoryCalibration,
}

impl GuidanceRequest {
    /// Returns what guidance must not name, with what memory forbids.
    pub fn all_restrictions(&self, plan: &Plan) -> PlannerRestrictions {
        let mut all = self.must_not.clone();
        let forbidden = self.calibration.must_not.iter();
        let forbidden = forbidden.filter(|entry| !is_named_like_step(plan, &entry.tool));
        all.avoid.extend(forbidden.map(AvoidedTool::from));
        all
    }

    /// Returns the words by which memory finds what it knows about the task.
    pub fn subject(&self) -> String {
        let title = self.intent.title.as_deref().unwrap_or_default();
        format!("{title} {} {} {}", self.intent.description, self.attempt.task_id.step, self.briefing)
    }
}

/// The answer of a planner that was asked about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidanceReply {
    /// The attempt that failed last.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The planner's output, or the reason why it does not count.
    pub said: PlannerReply,
    /// The tools that memory forbids, as the planner was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_not: Vec<CalibrationEntry>,
    /// The number of model calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u32,
    /// The amounts that they used.
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
