use std::time::Duration;

use super::{Difference, Scope};
use crate::name::RunId;
use crate::time::{Moment, format_duration};

/// Why an approval allows nothing: one variant for every way in which it can fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none.
    #[error("there is no approval {0}")]
    Missing(String),
    /// It is no token.
    #[error("this is no approval: {0}")]
    NoToken(String),
    /// It is a signed text of another kind.
    #[error("this is a signed text of another kind: {0}")]
    OtherPayload(String),
    /// It is of another version of the format.
    #[error("the approval is of version {0} of the format; this wf knows version 1")]
    Version(u64),
    /// It says the same in other bytes.
    #[error("the approval is not written in the one form that there is of it (canonical JSON)")]
    NotCanonical,
    /// Nobody signed it.
    #[error("nobody signed the approval")]
    Unsigned,
    /// What it says cannot be.
    #[error("the approval contradicts itself: {0}")]
    Contradiction(&'static str),
    /// It is signed by somebody who may not approve.
    #[error("the approval is signed by a key that is not listed as an approver: {0}")]
    Unlisted(String),
    /// A signature does not fit.
    #[error("the signature of {0} does not fit what the approval says")]
    BadSignature(String),
    /// It is signed with a key that is not to be trusted any more.
    #[error("the approval is signed with the key of {name}, which was revoked on {since}")]
    Revoked {
        /// Whose key it was.
        name: String,
        /// Since when.
        since: Moment,
    },
    /// The decision was no.
    #[error("what was signed is a denial{}", reason(.0.as_deref()))]
    Denied(Option<String>),
    /// It holds later.
    #[error("the approval holds only from {0}")]
    NotYet(Moment),
    /// It holds no more.
    #[error("the approval expired on {0}")]
    Expired(Moment),
    /// It holds longer than anybody may allow.
    #[error("the approval holds for {}, and at most {} is allowed", format_duration(*.asks), format_duration(*.allowed))]
    TooLong {
        /// How long it holds.
        asks: Duration,
        /// How long it may.
        allowed: Duration,
    },
    /// It is for something else.
    #[error("the approval is for scope `{}`, not `{}`", .approved.as_str(), .asked.as_str())]
    OtherScope {
        /// What it is for.
        approved: Scope,
        /// What is about to be done.
        asked: Scope,
    },
    /// It is for another plan.
    #[error("the approval is for the plan {approved}, not {asked}")]
    OtherPlan {
        /// Which plan it is for.
        approved: String,
        /// Which plan is about to run.
        asked: String,
    },
    /// The plan is not as it was.
    #[error("what was approved is not what would run: {}", listed(.0))]
    Changed(Vec<Difference>),
    /// A parameter is not within what was approved.
    #[error("parameter {0}")]
    Param(String),
    /// It is for another run.
    #[error("the approval is for run {}", .0.short())]
    OtherRun(RunId),
    /// It answers another request.
    #[error("the approval answers another request than the one that waits")]
    OtherAsk,
    /// It is asked to let something be started, and what that is was not said.
    #[error("a standing approval allows only what a goal starts, and nothing was started")]
    NothingSpawned,
    /// What would be started is not within what was approved.
    #[error("what would be started is not of the form that the standing approval allows")]
    OtherSpawn,
    /// Only who runs it signed.
    #[error("{0} approved what {0} runs; somebody else must")]
    SelfApproval(String),
    /// Somebody answered who was not asked.
    #[error("{0} may approve, and is not among those who are asked this")]
    NotAsked(String),
    /// It answers a question whose time was over.
    #[error("the time to answer was over at {0}")]
    Late(Moment),
    /// More must sign.
    #[error("{found} of {required} approvers signed")]
    TooFew {
        /// How many must.
        required: u32,
        /// How many did, and count.
        found: u32,
    },
    /// It was used as often as it may be.
    #[error("the approval was used already, {used} of {executions} times")]
    Spent {
        /// How often it was used.
        used: u32,
        /// How often it may be.
        executions: u32,
    },
    /// Somebody took it back.
    #[error("the approval was withdrawn on {0}")]
    Withdrawn(Moment),
    /// It was never used to start this.
    #[error("no use of the approval is recorded, so it started nothing that could go on")]
    Unused,
}

fn reason(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// The most files that a refusal names.
const NAMED: usize = 5;

fn listed(files: &[Difference]) -> String {
    let first = files.iter().take(NAMED).map(ToString::to_string);
    let named = first.collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl Refusal {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Missing(_) | Self::Unsigned | Self::Denied(_) => {
                "let an approver look at it: wf approve PLAN"
            }
            Self::NoToken(_) | Self::OtherPayload(_) | Self::NotCanonical => {
                "take the file from where it was approved, byte by byte, or approve again: wf approve PLAN"
            }
            Self::Version(_) => "approve again with this wf: wf approve PLAN",
            Self::Contradiction(_) | Self::BadSignature(_) => {
                "somebody changed it; do not run the plan before you know why"
            }
            Self::Unlisted(_) => {
                "approvers.yaml lists who may approve; a listed approver must: wf approve PLAN"
            }
            Self::Revoked { .. } => "approve again with a key that holds: wf approve PLAN",
            Self::NotYet(_) => "wait, or set the clock of this machine right",
            Self::Withdrawn(_) => {
                "sign a new one, for less: wf approve GOAL --executions N --expires TIME"
            }
            Self::Expired(_) | Self::Spent { .. } => "approve again: wf approve PLAN",
            Self::TooLong { .. } => "approve again for less: wf approve PLAN --expires TIME",
            Self::OtherScope { .. } | Self::OtherPlan { .. } | Self::OtherRun(_) => {
                "use the approval of this plan, or make one: wf approve PLAN"
            }
            Self::Changed(_) => {
                "look at the changes and approve them: wf approve PLAN; or take them back"
            }
            Self::Param(_) => {
                "run with what was approved, or approve it: wf approve PLAN -p NAME=VALUE, --any NAME"
            }
            Self::OtherAsk => "`wf show RUN` tells what waits; answer that: wf approve RUN",
            Self::NothingSpawned | Self::OtherSpawn => {
                "approve the goal again with what it may start"
            }
            Self::Late(_) => "resume the run: it says what follows, and who is asked next",
            Self::NotAsked(_) => "let one of those answer who are asked: wf show RUN",
            Self::SelfApproval(_) | Self::TooFew { .. } => {
                "let another approver sign it, too: wf approve PLAN"
            }
            Self::Unused => "start a new run",
        }
    }
}
