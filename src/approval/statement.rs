use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::machine::Pin;
use crate::model::Schema;
use crate::name::{PlanId, RunId};
use crate::seal::canonical;
use crate::time::Moment;

/// The version of the format of statements.
pub const VERSION: u32 = 1;

/// What an approval is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A run of a whole plan.
    FullPlan,
    /// What one step of a run asks.
    Step,
    /// What a gate asks in a run.
    Gate,
    /// What a goal may start by itself.
    Standing,
    /// That a skill may be installed.
    SkillInstall,
    /// That a connection may be set up, or have more permissions.
    ConnectionManage,
    /// That a goal may be kept true as it is.
    GoalAccept,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 7] = [
        Self::FullPlan,
        Self::Step,
        Self::Gate,
        Self::Standing,
        Self::SkillInstall,
        Self::ConnectionManage,
        Self::GoalAccept,
    ];

    /// The word that stands for it in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullPlan => "full_plan",
            Self::Step => "step",
            Self::Gate => "gate",
            Self::Standing => "standing",
            Self::SkillInstall => "skill_install",
            Self::ConnectionManage => "connection_manage",
            Self::GoalAccept => "goal_accept",
        }
    }
}

/// What an approver decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may be done.
    Approved,
    /// It must not.
    Denied,
}

/// The plan that an approval is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRef {
    /// Its id.
    pub id: PlanId,
    /// Its path, relative to the workspace.
    pub path: String,
    /// The [digest](super::plan_digest) of its files.
    pub digest: Digest,
}

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Bound {
    /// This value alone.
    Is(Value),
    /// Every value that a JSON Schema lets pass.
    Within(Value),
}

impl Bound {
    /// Why a value is not within the bound; `None`: it is.
    pub fn mistake(&self, value: &Value) -> Option<String> {
        match self {
            // Numbers are the same if they are written the same.
            Self::Is(bound) if canonical(bound) == canonical(value) => None,
            Self::Is(bound) => Some(format!("{} was approved", canonical(bound))),
            Self::Within(schema) => match Schema::new(schema.clone()) {
                Ok(schema) => schema.mistake(value),
                Err(bad) => Some(format!("what was approved is no JSON Schema: {bad}")),
            },
        }
    }
}

/// A request for a decision, as the engine recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The place that asks; `None`: the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Which of the requests of the run it is.
    pub number: u32,
    /// The digest of what is proposed.
    pub proposal: Digest,
}

/// What tells one approval from every other: 32 hexadecimal digits, drawn at random.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(String);

impl Nonce {
    /// Makes a nonce of random bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(bytes)))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_sound(&self) -> bool {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        self.0.len() == 32 && self.0.bytes().all(digit)
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What an approver signs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The version of this format: [`VERSION`].
    pub v: u32,
    /// What it is for.
    pub scope: Scope,
    /// What was decided.
    pub verdict: Verdict,
    /// Why, in the words of who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The plan.
    pub plan: PlanRef,
    /// Every text that the plan is made of and every file that it executes, sorted by path.
    pub files: Vec<Pin>,
    /// What each parameter may be.
    pub params: BTreeMap<String, Bound>,
    /// The run that it holds for; `None`: any run of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The request that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// What tells it from others.
    pub nonce: Nonce,
    /// From when it holds, as the approver says.
    pub issued: Moment,
    /// When it ends.
    pub expires: Moment,
    /// How often it may be used.
    pub executions: u32,
    /// What may be started under it, if it is standing: [`SpawnPolicy::digest`](super::SpawnPolicy::digest).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawn_policy: Option<Digest>,
}

impl Statement {
    /// Its canonical JSON: the bytes that are signed.
    pub fn text(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }

    /// What in it contradicts itself, if anything; one sentence.
    pub fn contradiction(&self) -> Option<&'static str> {
        let sorted = self
            .files
            .is_sorted_by(|one, other| (&one.path, one.link) < (&other.path, other.link));
        let wrong = [
            (!sorted, "its files are not in order, or one is named twice"),
            (
                self.plan.digest != super::plan_digest(&self.files),
                "its digest is not that of its files",
            ),
            (self.expires <= self.issued, "it ends before it begins"),
            (self.executions == 0, "it may be used no time at all"),
            (
                !self.nonce.is_sound(),
                "its nonce is not 32 hexadecimal digits",
            ),
            (
                (self.scope == Scope::Standing) != self.spawn_policy.is_some(),
                "a standing approval, and no other, says what may be started under it",
            ),
            (
                matches!(self.scope, Scope::Step | Scope::Gate)
                    != (self.ask.is_some() && self.run.is_some()),
                "an answer, and nothing else, names the request and the run",
            ),
        ];
        let found = wrong.into_iter().find(|(wrong, _)| *wrong);
        found.map(|(_, why)| why)
    }
}
