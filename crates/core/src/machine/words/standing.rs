//! The states of runs, steps and items, and the standing of a result.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_base::{digest::Sha256Digest, keywords};

/// An item of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepItem {
    /// Its stable key, unique among its siblings.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl StepItem {
    /// Returns the digest of its value, for any order of an object's fields.
    pub fn digest(&self) -> Sha256Digest {
        let mut value = self.value.clone();
        value.sort_all_objects();
        Sha256Digest::of_bytes(value.to_string().as_bytes())
    }
}

/// The phases of a run, in order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// Gates decide whether anything begins.
    Gates,
    /// The steps run.
    #[default]
    Steps,
    /// The plan's own criteria are checked.
    Verify,
    /// Gates decide whether the outputs are published.
    Publish,
    /// The `finally` steps run.
    Finally,
    /// Evidence is checked again.
    Confirm,
    /// The run has ended.
    Ended,
}

keywords! {
    /// The state of a step or an item (DESIGN section 4).
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum StepState {
        /// Its dependencies have not ended.
        #[default]
        Pending = "pending",
        /// It may run and waits for its turn.
        Queued = "queued",
        /// An attempt runs.
        Running = "running",
        /// The work of an attempt ended; its checks run.
        Verifying = "verifying",
        /// It waits: for a lock, or for the next attempt.
        Waiting = "waiting",
        /// It was queued or at work when the process of its run died: shown to people, and never recorded.
        #[serde(skip_deserializing)]
        Interrupted = "interrupted",
        /// It ended well.
        Succeeded = "succeeded",
        /// It failed and is out of attempts.
        Failed = "failed",
        /// It did not run, by rule.
        Skipped = "skipped",
        /// It was ended, or kept from running, by a cancellation.
        Cancelled = "cancelled",
    }
}

keywords! {
    /// The verification status of a result (DESIGN section 4, constitution 2).
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Standing {
        /// Nothing was claimed.
        #[default]
        Unchecked = "unchecked",
        /// The worker reports success; no check has confirmed it.
        Reported = "reported",
        /// Checks outside the worker passed, and at least one of them cannot verify.
        Plausible = "plausible",
        /// Checks outside the worker confirmed it, and each of them can verify.
        Verified = "verified",
        /// It failed verification.
        Refuted = "refuted",
    }
}

/// The number of steps of a run by final state and verification status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepCounts {
    /// Succeeded and verified steps.
    pub verified: u32,
    /// Succeeded steps with passed checks, at least one of them unable to verify.
    #[serde(default, skip_serializing_if = "is_none")]
    pub plausible: u32,
    /// Steps with unverified success.
    pub reported: u32,
    /// Steps whose failure fails the run.
    pub failed: u32,
    /// Steps with a tolerated failure: `on_error: continue`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub allowed_to_fail: u32,
    /// Skipped steps.
    pub skipped: u32,
    /// Cancelled steps.
    pub cancelled: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

impl Standing {
    /// True if checks outside the worker passed: their evidence must stay fresh.
    pub fn is_checked(self) -> bool {
        matches!(self, Self::Plausible | Self::Verified)
    }
}

impl StepCounts {
    /// Returns the number of ended steps.
    pub fn total(&self) -> u32 {
        let failed = self.failed.saturating_add(self.allowed_to_fail);
        let succeeded = [self.plausible, self.reported].into_iter().fold(self.verified, u32::saturating_add);
        [self.skipped, self.cancelled, failed].into_iter().fold(succeeded, u32::saturating_add)
    }

    /// Returns the counter of steps with this end.
    pub fn of_end(&mut self, state: StepState, standing: Standing, tolerated: bool) -> &mut u32 {
        match (state, standing) {
            (StepState::Succeeded, Standing::Verified) => &mut self.verified,
            (StepState::Succeeded, Standing::Plausible) => &mut self.plausible,
            (StepState::Succeeded, _) => &mut self.reported,
            (StepState::Failed, _) if tolerated => &mut self.allowed_to_fail,
            (StepState::Failed, _) => &mut self.failed,
            (StepState::Skipped, _) => &mut self.skipped,
            _ => &mut self.cancelled,
        }
    }
}

impl StepState {
    /// True for a final state.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Skipped | Self::Cancelled)
    }
}
