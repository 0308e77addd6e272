//! What follows from what gates say, and from what people decide.

use serde::{Deserialize, Serialize};

/// Where gates are asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GatePoint {
    /// Before anything of the run begins: `before_run`, then `on_input`.
    Start,
    /// Before the first attempt of a place: `before_step`, then `on_tool_call`.
    Enter,
    /// After the work of an attempt, before its checks: `after_step`, then `on_output`.
    Leave,
    /// Before the run gives its outputs: `before_publish`.
    Publish,
}

use super::{Given, Machine, Place};
use crate::gate::Gated;

impl Machine {
    pub(super) fn gated(&mut self, _place: Option<&Place>, _point: GatePoint, _gated: Gated) {}
    pub(super) fn answered(&mut self, _number: u32, _given: Given) {}
    pub(super) fn ask_over(&mut self, _number: u32) {}
}
