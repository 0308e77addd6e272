use serde::{Deserialize, Serialize};

use super::{By, GatePoint, Place};
use crate::digest::Digest;
use crate::gate::GateResult;
use crate::model::{CheckPhase, Object};
use crate::name::{GateId, Name};
use crate::time::Moment;

/// What people are asked to agree to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ask {
    /// Its number in its run, from 1.
    pub number: u32,
    /// When it was asked.
    pub since: Moment,
    /// The place that waits for it; absent: the run does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Where the gates are that ask for it; absent: the step itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<GatePoint>,
    /// The phase of checks that a yes lets be ignored; absent: it is about something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<CheckPhase>,
    /// The gates that ask for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateId>,
    /// What other gates said that did not let pass: it counts after a yes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<GateResult>,
    /// What is asked.
    pub message: String,
    /// The values that are shown with it, and that the approval is of.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub show: Object,
    /// What the gates rewrote, and to what.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub rewritten: Object,
    /// How many must agree; absent: as many as the workspace's policy demands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<u32>,
    /// The names of those who may; empty: every approver of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The names of those who are asked next, if nobody answers in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalate_to: Vec<String>,
    /// The queue that whoever decides works off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The escalation that follows, if nobody answers in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The escalations that have had their turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub had: Vec<String>,
    /// Why the gate blocks that people are asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when there is time to answer.
    pub expires: Moment,
    /// The steps whose checked files are approved with it: a change of one makes it void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relies_on: Vec<Name>,
}

/// What became of a request for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Given {
    /// What was decided.
    pub decision: Decision,
    /// Who decided; empty where nobody did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<By>,
    /// SHA-256 of what each of them signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Digest>,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What can become of a request for a decision. Only the first is a yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Those who had to agree did.
    Approved,
    /// Somebody who may refused.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// What was to be approved has changed since: people are asked anew.
    Void,
    /// It is not needed any more.
    Withdrawn,
}

impl Decision {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Void => "void",
            Self::Withdrawn => "withdrawn",
        }
    }
}
