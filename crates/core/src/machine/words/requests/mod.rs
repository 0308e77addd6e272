//! The words for decisions: the requests to people and planners, and their answers.
//!
//! Start at `approval_request` and `typed_answer` for people, at `plan_request` and `proposal` for planners.

pub(in crate::machine) mod approval_request;
pub(in crate::machine) mod plan_request;
pub(in crate::machine) mod proposal;

mod guidance_event;
mod planner_event;
mod typed_answer;

pub use approval_request::{ApprovalOutcome, ApprovalRequest, RequestDecision, StuckAttempt};
pub use guidance_event::{GuidanceEnd, GuidanceOutcome, GuidanceReply, GuidanceRequest, GuidanceStart};
pub use plan_request::{
    AvoidedTool, PlanFailure, PlanIntent, PlanRequest, PlanState, PlannerRestrictions, PreferredTool,
};
pub use planner_event::{PlanReply, PlannerRejection};
pub use proposal::{ProposedAgent, ProposedAlternative, ProposedArguments, ProposedRequest, ProposedScript};
pub use typed_answer::{AnswerOptions, AnswerOptionsError, TypedAnswer, TypedAnswerMistake, check_answer};
