use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical;
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{PinnedFile, TypedAnswer};
use wf_model::ValueSchema;

/// The version of the format of statements: since 2 they bind the executable bit of files.
pub const VERSION: u32 = 2;

/// The version of statements with a typed answer: a `wf` that does not know them refuses them by their version.
pub const ANSWER_VERSION: u32 = 3;

/// The scope of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// A run of a whole plan.
    FullPlan,
    /// A question of one step of a run.
    Step,
    /// A question of a gate in a run.
    Gate,
    /// The repairs a goal may start by itself.
    Standing,
    SkillInstall,
    /// The setup of a connection, or an extension of its permissions.
    ConnectionManage,
    /// The acceptance of a goal in its present form.
    GoalAccept,
    /// One more key of an approver.
    KeyEnrol,
}

impl ApprovalScope {
    /// Every scope.
    pub const ALL: [Self; 8] = [
        Self::FullPlan,
        Self::Step,
        Self::Gate,
        Self::Standing,
        Self::SkillInstall,
        Self::ConnectionManage,
        Self::GoalAccept,
        Self::KeyEnrol,
    ];

    /// Returns the scope's word in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullPlan => "full_plan",
            Self::Step => "step",
            Self::Gate => "gate",
            Self::Standing => "standing",
            Self::SkillInstall => "skill_install",
            Self::ConnectionManage => "connection_manage",
            Self::GoalAccept => "goal_accept",
            Self::KeyEnrol => "key_enrol",
        }
    }
}

/// The decision of an approver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// The action is allowed.
    Approved,
    /// The action is forbidden.
    Denied,
}

/// The plan an approval is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRef {
    pub id: PlanId,
    /// The path, relative to the workspace.
    pub path: String,
    /// The [digest](super::plan_digest) of its files.
    pub digest: Sha256Digest,
}

/// A workspace, as a statement names it: another one for a copy and for a linked worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceRef {
    /// The name of its folder, for people.
    pub name: String,
    /// The name of its machine.
    pub host: String,
    /// The digest of its place there.
    pub digest: Sha256Digest,
}

/// The bound of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ParamBound {
    /// Exactly this value.
    Is(Value),
    /// Any value a JSON Schema accepts.
    Within(Value),
}

impl ParamBound {
    /// Returns the reason why a value is out of bounds; `None`: it is not.
    pub fn bound_violation(&self, value: &Value) -> Option<String> {
        match self {
            // Numbers are equal if they are written the same.
            Self::Is(bound) if canonical(bound) == canonical(value) => None,
            Self::Is(bound) => Some(format!("{} was approved", canonical(bound))),
            Self::Within(schema) => match ValueSchema::new(schema.clone()) {
                Ok(schema) => schema.first_mistake(value),
                Err(bad) => Some(format!("the approved value is not a JSON Schema: {bad}")),
            },
        }
    }
}

/// A request for a decision, as the engine recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequestRef {
    /// The task asking; `None`: the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The number of the request within the run.
    pub number: u32,
    pub proposal: Sha256Digest,
}

/// The unique id of an approval: 32 random hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ApprovalNonce(String);

impl ApprovalNonce {
    /// Makes a nonce of random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_well_formed(&self) -> bool {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        self.0.len() == 32 && self.0.bytes().all(digit)
    }
}

impl fmt::Display for ApprovalNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The statement an approver signs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalStatement {
    /// The version of this format: [`VERSION`].
    pub v: u32,
    pub scope: ApprovalScope,
    pub verdict: ApprovalDecision,
    /// The reason, in the approver's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub plan: PlanRef,
    /// Every text the plan is made of and every file it executes, sorted by path.
    pub files: Vec<PinnedFile>,
    pub params: BTreeMap<String, ParamBound>,
    /// The run the approval is for; `None`: any run of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The request answered.
    #[serde(default, rename = "ask", skip_serializing_if = "Option::is_none")]
    pub request_ref: Option<ApprovalRequestRef>,
    /// The answer to it, beyond yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<TypedAnswer>,
    /// The unique id.
    pub nonce: ApprovalNonce,
    /// The start of the validity, as claimed by the approver.
    pub issued: Moment,
    /// The end of the validity.
    pub expires: Moment,
    /// The number of uses allowed.
    pub executions: u32,
    /// The form of plans that may be started, if it is standing:
    /// [`SpawnPolicy::digest`](super::SpawnPolicy::digest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_policy: Option<Sha256Digest>,
    /// The digest of the workspace's settings a goal depends on, if it accepts a goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Sha256Digest>,
    /// The only workspace it counts in; `None`: any with these files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceRef>,
}

impl ApprovalStatement {
    /// Returns its canonical JSON: the bytes signed.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }

    /// Returns the statement with an answer, in the version that has answers; without one it stays as it is.
    #[must_use]
    pub fn with_answer(self, answer: Option<TypedAnswer>) -> Self {
        let v = if answer.is_some() { ANSWER_VERSION } else { self.v };
        Self { v, answer, ..self }
    }

    /// Returns the contradiction in the statement, if any, as one sentence.
    pub fn find_contradiction(&self) -> Option<&'static str> {
        let sorted = self.files.is_sorted_by(|one, other| (&one.path, one.link) < (&other.path, other.link));
        let wrong = [
            (!sorted, "its files are not sorted, or one is listed twice"),
            (self.plan.digest != super::plan_digest(&self.files), "its digest does not match its files"),
            (self.expires <= self.issued, "it expires before it is issued"),
            (self.executions == 0, "it allows no uses"),
            (!self.nonce.is_well_formed(), "its nonce is not 32 hexadecimal digits"),
            (
                (self.scope == ApprovalScope::Standing) != self.spawn_policy.is_some(),
                "a spawn policy is required for standing approvals, and invalid for others",
            ),
            (
                matches!(self.scope, ApprovalScope::Step | ApprovalScope::Gate)
                    != (self.request_ref.is_some() && self.run.is_some()),
                "request and run are required for answers, and invalid for others",
            ),
            (
                (self.v == ANSWER_VERSION) != self.answer.is_some(),
                "an answer is required in version 3, and invalid in others",
            ),
            (
                self.answer.is_some()
                    && (self.scope != ApprovalScope::Step || self.verdict == ApprovalDecision::Denied),
                "an answer is invalid in a denial, and for anything but the request of a step",
            ),
        ];
        let found = wrong.into_iter().find(|(wrong, _)| *wrong);
        found.map(|(_, reason)| reason)
    }
}
