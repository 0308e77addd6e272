use crate::machine::ApprovalPolicy;
use std::time::Duration;

use crate::digest::Digest;
use crate::seal::PublicKey;
use crate::time::Moment;

/// How long an approval holds at most, where the policy does not say.
pub const VALIDITY: Duration = Duration::from_hours(7 * 24);

/// Who must have approved what runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Whoever runs it.
    #[default]
    Owner,
    /// Others, in advance: so many listed approvers, none of them who runs it.
    Reviewed,
}

impl From<Policy> for ApprovalPolicy {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Owner => Self::Owner,
            Policy::Reviewed => Self::Reviewed,
        }
    }
}

impl Policy {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Reviewed => "reviewed",
        }
    }
}

/// Somebody who may approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approver {
    /// The name, for people.
    pub name: String,
    /// The key, which is who it is.
    pub public: PublicKey,
    /// Since when the key is not to be trusted.
    pub revoked: Option<Moment>,
}

/// Who may approve, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvers {
    /// The policy.
    pub policy: Policy,
    /// How many must have signed, at least one.
    pub required: u32,
    /// Who may sign. A key stands here once.
    pub keys: Vec<Approver>,
    /// How long an approval may hold.
    pub validity: Duration,
}

impl Approvers {
    /// The policy of a workspace that has none: whoever runs a plan approves it.
    pub fn owner(keys: Vec<Approver>) -> Self {
        Self {
            policy: Policy::Owner,
            required: 1,
            keys,
            validity: VALIDITY,
        }
    }

    /// The approver with a key of this id.
    pub fn find(&self, key: Digest) -> Option<&Approver> {
        self.keys.iter().find(|one| one.public.id() == key)
    }
}
