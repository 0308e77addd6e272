use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Outcome;

/// An item of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Item {
    /// Its stable key, unique among its siblings.
    pub key: String,
    /// Its value.
    pub value: Value,
}

/// The parts of a run, in order.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Gates decide whether anything begins.
    Gates,
    /// The steps run.
    #[default]
    Steps,
    /// The plan's own criteria are checked.
    Verify,
    /// Gates decide whether the outputs are given.
    Publish,
    /// The `finally` steps run.
    Finally,
    /// Evidence is looked at once more.
    Confirm,
    /// The run has ended.
    Over,
}

/// Where a step or an item is in its life (DESIGN section 4).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Its dependencies have not ended.
    #[default]
    Pending,
    /// It may run and waits for its turn.
    Queued,
    /// An attempt runs.
    Running,
    /// The work of an attempt ended; its checks run.
    Verifying,
    /// It waits: for a lock, or for the next attempt.
    Waiting,
    /// It ended well.
    Succeeded,
    /// It failed and is out of attempts.
    Failed,
    /// It did not run, by rule.
    Skipped,
    /// It was ended, or kept from running, by a cancellation.
    Cancelled,
}

/// How far a result is believed (DESIGN section 4, constitution 2).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing was claimed.
    #[default]
    Unchecked,
    /// The worker says so; no check has confirmed it.
    Reported,
    /// Checks outside the worker confirmed it.
    Verified,
    /// A check found otherwise.
    Refuted,
}

/// How the steps of a run ended, and how far they are believed.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Tally {
    /// Steps that succeeded and are verified.
    pub verified: u32,
    /// Steps that succeeded on the worker's word.
    pub reported: u32,
    /// Steps that failed, and whose failure fails the run.
    pub failed: u32,
    /// Steps that failed and may: `on_error: continue`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub tolerated: u32,
    /// Steps that did not run.
    pub skipped: u32,
    /// Steps that were cancelled.
    pub cancelled: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl StepState {
    /// Whether this is the end.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::Skipped | Self::Cancelled
        )
    }

    /// The word for it, as in files and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Verifying => "verifying",
            Self::Waiting => "waiting",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Standing {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchecked => "unchecked",
            Self::Reported => "reported",
            Self::Verified => "verified",
            Self::Refuted => "refuted",
        }
    }
}

impl Outcome {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
        }
    }
}
