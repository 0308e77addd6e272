//! Approvals of plans, required before a run starts.
//!
//! [`SigningRules`] defines who may approve in a workspace, [`approved_tree`] what exactly is approved in advance,
//! [`authorize`] decides if a run may start, and [`reauthorize`] if a started run may be resumed. Persons sign in
//! one way, [`agree()`]: for a file of signatures with a [`TokenReview`], and to answer a run with
//! an [`AnswerReview`].
//!
//! Two rooms stand on the files of this folder: `admission` decides about starts, `answers` are the words of people to a
//! waiting run. Start at `rules` and `signing`, then `token` and `pins`, the signed content; `plan`, `accepted`
//! and `review` are how a person comes to sign it.
//!
//! **Invariant:** a refusal here has started nothing and has recorded nothing.

mod accepted;
mod admission;
mod agree;
mod answers;
mod before;
mod bounds;
mod lines;
mod owner;
mod pins;
mod plan;
mod remote_goal;
mod remote_start;
mod review;
mod rules;
mod settings;
mod signing;
mod skilled;
mod spawned;
mod token;
mod withdrawal;

pub use crate::failure::usage_error;
pub use accepted::{
    acceptance_path, awaited_acceptance, awaited_acceptance_at, check_accepted, check_programs_accepted,
    reviewed_files,
};
pub use admission::{
    entry::{ApprovalDemand, RunAuthorization, authorize, check_approved_in_advance},
    refused::{differences_text, refuse_run},
    resumed::reauthorize,
    standing::{CarriedApproval, authorize_goal},
};
pub use agree::{confirm, confirmed};
pub(crate) use answers::questions::approval_requests;
pub use answers::{
    answer::{AnswerRequest, AnswerReview, ShowDecision},
    form::AnswerForm,
    questions::{RunApprovalRequest, recorded_requests},
    remote::{AnswerDraft, RemoteAnswer, RequestName, SubmittedAnswer, draft_answer, submit_answer},
};
pub use before::text_by_digest;
pub use bounds::ParamBoundsRequest;
pub use lines::changed_lines;
pub use owner::owner_signer;
pub use pins::{ApprovedTree, approved_tree, current_tree, run_pins, token_at, token_path};
pub use plan::{PlanApprovalRequest, PlanChanges, PlanReview};
pub use remote_goal::{GoalDraft, GoalSignature, draft_goal_signature, submit_goal_signature};
pub use remote_start::{RemoteStart, StartDraft, draft_start, signed_start};
pub use review::{AskedTerms, TokenReview};
pub use rules::{SigningRules, WorkspaceApprovers};
pub use settings::workspace_settings;
pub(crate) use signing::rejected_signature;
pub use signing::{SigningOptions, agree, approver_key, validity};
pub use spawned::spawned_goal;
pub use token::{draft_statement, plan_ref, read_token, use_count};
pub use withdrawal::{StandingApproval, standing_approval, withdrawal_time};
