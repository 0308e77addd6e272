use std::time::Duration;

use serde::{Deserialize, Serialize};

use wf_core::machine::ApprovalPolicy;

use crate::ApproverKey;
use wf_base::{digest::Sha256Digest, time::Moment};

/// The longest validity of an approval, if the policy does not set one.
pub const VALIDITY: Duration = Duration::from_hours(7 * 24);

/// The policy on who must have approved a plan before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewPolicy {
    /// The user running it.
    #[default]
    Owner,
    /// The required number of listed approvers, in advance; the initiator does not count.
    Reviewed,
}

impl From<ReviewPolicy> for ApprovalPolicy {
    fn from(policy: ReviewPolicy) -> Self {
        match policy {
            ReviewPolicy::Owner => Self::Owner,
            ReviewPolicy::Reviewed => Self::Reviewed,
        }
    }
}

impl ReviewPolicy {
    /// Returns the policy's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Reviewed => "reviewed",
        }
    }
}

/// An approver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approver {
    /// The name, for display.
    pub name: String,
    /// The public key, which identifies the approver.
    pub public: ApproverKey,
    /// The instant from which the key is no longer trusted.
    pub revoked: Option<Moment>,
}

/// The approvers of a workspace and its policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvers {
    pub policy: ReviewPolicy,
    /// The number of signatures required, at least one.
    pub required: u32,
    /// The approvers; each key is listed once.
    pub keys: Vec<Approver>,
    /// The longest validity of an approval.
    pub validity: Duration,
}

impl Approvers {
    /// Returns the policy of a workspace that has none: the user running a plan approves it.
    pub fn owner(approvers: Vec<Approver>) -> Self {
        Self { policy: ReviewPolicy::Owner, required: 1, keys: approvers, validity: VALIDITY }
    }

    /// Returns the number of signatures the policy requires: under `owner`, the one running a plan or sees a goal
    /// is enough.
    pub fn quorum(&self) -> u32 {
        match self.policy {
            ReviewPolicy::Owner => 1,
            ReviewPolicy::Reviewed => self.required.max(1),
        }
    }

    /// True if the signature of an approver does not count, because the initiator must not approve alone.
    pub fn bars(&self, approver: &Approver, initiator: Option<Sha256Digest>) -> bool {
        self.policy == ReviewPolicy::Reviewed && Some(approver.public.id()) == initiator
    }

    /// Returns the approver with this key id.
    pub fn find(&self, key: Sha256Digest) -> Option<&Approver> {
        self.keys.iter().find(|one| one.public.id() == key)
    }
}
