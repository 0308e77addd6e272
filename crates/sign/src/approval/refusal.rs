use std::time::Duration;

use super::{ANSWER_VERSION, ApprovalScope, ApprovedFileDifference, VERSION, WorkspaceRef};
use wf_base::{
    name::RunId,
    remedy::{Remedy, RequestAnswerForm, UserAction},
    time::{Moment, format_duration},
};
use wf_core::machine::TypedAnswerMistake;

/// The reason why an approval allows nothing: one variant for each way to fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalRefusal {
    /// There is no approval.
    #[error("{0} not found")]
    Missing(String),
    /// The text is not a token.
    #[error("not an approval: {0}")]
    NoToken(String),
    /// The payload is of another type.
    #[error("not an approval, but a signed document of type {0}")]
    OtherPayload(String),
    /// The version of the format is unknown.
    #[error(
        "unsupported approval format version {0}; this wf supports versions {VERSION} and {ANSWER_VERSION}"
    )]
    Version(u64),
    /// The text is not in canonical form.
    #[error("the approval is not canonical JSON")]
    NotCanonical,
    /// There is no signature.
    #[error("the approval is not signed")]
    Unsigned,
    /// The statement contradicts itself.
    #[error("invalid approval: {0}")]
    Contradiction(&'static str),
    /// The signer is not a listed approver.
    #[error("signed with the key {0}, which is not listed in approvers.yaml")]
    Unlisted(String),
    /// A signature is invalid.
    #[error("invalid signature by {0}: it does not match the approval")]
    BadSignature(String),
    /// The key that signed is revoked.
    #[error("the approval is signed with {name}'s key, which was revoked on {since}")]
    Revoked {
        /// The name of the key's owner.
        name: String,
        /// The instant of revocation.
        since: Moment,
    },
    /// The decision was a denial.
    #[error("the signed decision is a denial{}", reason(.0.as_deref()))]
    Denied(Option<String>),
    /// The approval is not valid yet.
    #[error("the approval is not valid before {0}")]
    NotYet(Moment),
    #[error("the approval expired on {0}")]
    Expired(Moment),
    /// The validity is longer than the policy allows.
    #[error("the approval is valid for {}, but at most {} is allowed", format_duration(*.asks), format_duration(*.allowed))]
    TooLong {
        /// The validity of the approval.
        asks: Duration,
        /// The longest validity allowed.
        allowed: Duration,
    },
    /// The approval has another scope.
    #[error("the approval is for scope `{}`, not `{}`", .approved.as_str(), .scope.as_str())]
    OtherScope {
        approved: ApprovalScope,
        /// The scope needed.
        scope: ApprovalScope,
    },
    /// The approval is for another plan.
    #[error("the approval is for plan {approved}, not {asked}")]
    OtherPlan {
        /// The approved plan.
        approved: String,
        /// The plan about to run.
        asked: String,
    },
    /// The plan has changed since it was approved.
    #[error("files differ from the approved version: {}", list_differences(.0))]
    Changed(Vec<ApprovedFileDifference>),
    /// A parameter is outside the approved bounds.
    #[error("{0}")]
    Param(String),
    /// The approval is for another run.
    #[error("the approval is for run {}", .0.short())]
    OtherRun(RunId),
    /// The approval is for another workspace, maybe one with the same files.
    #[error("the approval is for another workspace: `{name}` on {host}", name = .0.name, host = .0.host)]
    OtherWorkspace(Box<WorkspaceRef>),
    /// The approval answers another request.
    #[error("the approval answers another request than the pending one")]
    OtherAsk,
    /// The request does not permit the answer.
    #[error(transparent)]
    BadAnswer(TypedAnswerMistake),
    /// Another approver has answered otherwise.
    #[error("{name} gave another answer: {answer}")]
    OtherAnswer {
        /// The approver who answered first.
        name: String,
        /// The first answer, in words.
        answer: String,
    },
    /// The approval is for starting something, and the subject does not say what.
    #[error("a standing approval covers only runs started by a goal, but none was started")]
    NothingSpawned,
    /// The plan to be started does not have the approved form.
    #[error("the run to start does not match the standing approval")]
    OtherSpawn,
    /// Only the initiator signed.
    #[error(
        "self-approval is not allowed: the run was started by {0}'s key; another approver \
        must sign"
    )]
    SelfApproval(String),
    #[error("{0} is an approver, but not one requested here")]
    NotAsked(String),
    /// The answer came after the deadline of the question.
    #[error("the deadline to answer was {0}")]
    Late(Moment),
    /// Too few approvers have signed.
    #[error("{found} of {required} approvers signed")]
    TooFew {
        /// The number of signatures required.
        required: u32,
        /// The number of signatures that count.
        found: u32,
    },
    /// The approval is used up.
    #[error("the approval is used up: {used} of {executions} uses")]
    Spent {
        used: u32,
        /// The number of uses allowed.
        executions: u32,
    },
    #[error("the approval was revoked on {0}")]
    Withdrawn(Moment),
    /// The approval was never used to start this.
    #[error("no use of the approval is recorded, so there is no run to continue")]
    Unused,
}

fn reason(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// The most files a refusal names.
const NAMED: usize = 5;

fn list_differences(files: &[ApprovedFileDifference]) -> String {
    let first = files.iter().take(NAMED).map(ToString::to_string);
    let named = first.collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl ApprovalRefusal {
    /// Returns what to do about it, where any plan may be meant.
    pub fn remedy(&self) -> Remedy {
        self.remedy_with_act("PLAN", "GOAL").unwrap_or_else(|| self.plain_remedy().into())
    }

    /// Does the same for the plan or the goal in a file.
    pub fn remedy_for(&self, file: &str) -> Remedy {
        self.remedy_with_act(file, file).unwrap_or_else(|| self.plain_remedy().into())
    }

    /// Does the same for an answer to a request of a run, at a step if there is one.
    pub fn remedy_for_request(&self, run: &RunId, step: Option<&str>) -> Remedy {
        let (run, step) = (run.clone(), step.map(str::to_owned));
        match self {
            Self::OtherAsk => {
                let form = RequestAnswerForm::Approval;
                Remedy::from("see the pending requests with ")
                    .quoted(UserAction::ShowRun(run.clone()))
                    .text(", and answer: ")
                    .action(UserAction::AnswerRequest { run, step, form })
            }
            Self::BadAnswer(_) => Remedy::from("see what may be answered: ").action(UserAction::ShowRun(run)),
            Self::OtherAnswer { .. } => {
                Remedy::from("all approvers must give the same answer: give that one, or refuse: ")
                    .action(UserAction::DenyRequest { run, step, with_reason: true })
            }
            Self::Unlisted(_) => {
                "answer with the key of an approver, or let one of them enrol this key where the workspace is"
                    .into()
            }
            Self::NotAsked(_) => {
                Remedy::from("one of the requested approvers must answer: ").action(UserAction::ShowRun(run))
            }
            _ => self.remedy(),
        }
    }

    /// Returns the remedy for a refusal about which the program can do something.
    fn remedy_with_act(&self, plan: &str, goal: &str) -> Option<Remedy> {
        let approve = |text: &str| Remedy::from(text).action(UserAction::ApprovePlan(plan.to_owned()));
        Some(match self {
            Self::Missing(_) | Self::Unsigned | Self::Denied(_) => approve("have an approver review it: "),
            Self::NoToken(_) | Self::OtherPayload(_) | Self::NotCanonical => {
                approve("copy the file unchanged from where it was approved, or approve again: ")
            }
            Self::Version(_) => approve("approve again with this wf: "),
            Self::Unlisted(_) => approve("an approver listed in approvers.yaml must sign: "),
            Self::Revoked { .. } => approve("approve again with a valid key: "),
            Self::Withdrawn(_) => Remedy::from("sign a new one with lower limits: ")
                .action(UserAction::ApproveRuns(goal.to_owned())),
            Self::Expired(_) | Self::Spent { .. } => approve("approve again: "),
            Self::TooLong { .. } => {
                approve("approve again with a shorter validity: ").text(" --expires TIME")
            }
            Self::OtherScope { .. } | Self::OtherPlan { .. } | Self::OtherRun(_) => {
                approve("use the approval of this plan, or create one: ")
            }
            Self::Changed(_) => approve("review and approve the changes: ").text("; or undo them"),
            Self::Param(_) => {
                approve("use the approved parameters, or approve these: ").text(" -p NAME=VALUE, --any NAME")
            }
            Self::SelfApproval(_) | Self::TooFew { .. } => approve("another approver must sign it, too: "),
            _ => return None,
        })
    }

    /// Returns the remedy for another refusal.
    fn plain_remedy(&self) -> &'static str {
        match self {
            Self::Contradiction(_) | Self::BadSignature(_) => {
                "the file was modified; find out why before you run the plan"
            }
            Self::NotYet(_) => "wait, or correct the clock of this machine",
            Self::NothingSpawned | Self::OtherSpawn => "approve the goal again, with the runs it may start",
            Self::OtherWorkspace(_) => "use it there, or have an approver sign in this workspace",
            Self::Late(_) => "resume the run: it shows the next request and its approvers",
            _ => "start a new run",
        }
    }
}
