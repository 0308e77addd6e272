//! The gate points of a run, and the gates of each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use wf_base::name::GateId;
use wf_model::{Gate, GateTrigger, Plan, StepIx, StepWork};

/// A point for gates.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GatePoint {
    /// Before anything of the run begins: `before_run`, then `on_input`.
    Start,
    /// Before the first attempt of a task in a round: `before_step`, then `on_tool_call`.
    Enter,
    /// Before each further attempt of a task: `on_tool_call`.
    Again,
    /// Before each tool call of an agent: `on_tool_call`.
    Call,
    /// Before each model call of an agent: `on_model_call`.
    Request,
    /// After each reply to an agent: `on_model_reply`.
    Reply,
    /// After each tool call of an agent: `on_tool_result`.
    Result,
    /// After the work of an attempt, before its checks: `after_step`, then `on_output`.
    Leave,
    /// Before the run gives its outputs: `before_publish`.
    Publish,
}

impl GatePoint {
    /// Returns the triggers of this point, in order.
    pub fn triggers(self) -> &'static [GateTrigger] {
        match self {
            Self::Start => &[GateTrigger::BeforeRun, GateTrigger::OnInput],
            Self::Enter => &[GateTrigger::BeforeStep, GateTrigger::OnToolCall],
            Self::Again | Self::Call => &[GateTrigger::OnToolCall],
            Self::Request => &[GateTrigger::OnModelCall],
            Self::Reply => &[GateTrigger::OnModelReply],
            Self::Result => &[GateTrigger::OnToolResult],
            Self::Leave => &[GateTrigger::AfterStep, GateTrigger::OnOutput],
            Self::Publish => &[GateTrigger::BeforePublish],
        }
    }
}

/// Returns the gates at a point of a task, or of the run: in the order of the triggers, and for
/// each those of the workspace, of the plan, of the step.
pub fn gates_at(plan: &Plan, step: Option<StepIx>, point: GatePoint) -> impl Iterator<Item = &Arc<Gate>> {
    let own = step.map_or(&[][..], |ix| &plan.step(ix).gates);
    // The tool calls of an agent are asked about one by one.
    let by_call = step.is_some_and(|ix| matches!(plan.step(ix).work, StepWork::Agent(_)));
    let later = by_call && matches!(point, GatePoint::Enter | GatePoint::Again);
    let triggers = point.triggers().iter().filter(move |on| !later || **on != GateTrigger::OnToolCall);
    triggers.flat_map(move |trigger| {
        let all = plan.parts().gates.iter().chain(own);
        all.filter(move |gate| gate.on == *trigger)
    })
}

/// A gate blocks the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunBlock {
    /// The gate, or the other request without approval.
    pub gate: GateId,
    /// The reason.
    pub reason: String,
}
