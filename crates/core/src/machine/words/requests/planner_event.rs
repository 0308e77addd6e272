//! The replies of a planner, and the rejection of one.

use serde::{Deserialize, Serialize};

use crate::{
    agent::authoring::CalibrationEntry,
    machine::words::{PlannerCalls, PlannerReply},
};

/// The planner gave nothing usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannerRejection {
    /// The number of the round.
    pub round: u32,
    /// The reason.
    pub reason: String,
    /// True if it used something forbidden, and is asked once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_again: bool,
    /// Its model calls.
    #[serde(flatten)]
    pub calls: PlannerCalls,
}

/// The answer of a planner about a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanReply {
    /// The number of the round.
    pub round: u32,
    /// True if it was asked once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The planner's output, or the reason why it does not count.
    #[serde(flatten)]
    pub said: PlannerReply,
    /// The tools forbidden by memory, as the planner was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_not: Vec<CalibrationEntry>,
    /// The reasons why plans in the output may not run: mistakes in them, and breaches of their envelopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Its model calls.
    #[serde(flatten)]
    pub calls: PlannerCalls,
}
