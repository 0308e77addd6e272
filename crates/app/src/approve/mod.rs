//! Approvals of plans, required before a run starts.
//!
//! [`SigningRules`] defines who may approve in a workspace, [`approved_tree`] what exactly is approved in advance,
//! [`authorize`] decides if a run may start, and [`reauthorize`] if a started run may be resumed. Persons sign in
//! one way, [`agree()`]: for a file of signatures with a [`TokenReview`], and to answer a run with
//! an [`AnswerReview`].
//!
//! **Invariant:** a refusal here has started nothing and has recorded nothing.

mod accepted;
mod agree;
mod answer;
mod before;
mod bounds;
mod decided;
mod entry;
mod form;
mod lines;
mod owner;
mod pins;
mod plan;
mod questions;
mod refused;
mod remote;
mod remote_goal;
mod resumed;
mod review;
mod rules;
mod settings;
mod signing;
mod skilled;
mod standing;
mod token;
mod withdrawal;

pub use accepted::{
    acceptance_path, awaited_acceptance, awaited_acceptance_at, check_accepted, check_programs_accepted,
    reviewed_files,
};
pub use agree::{confirm, confirmed};
pub use answer::{AnswerRequest, AnswerReview, ShowDecision};
pub use before::text_by_digest;
pub use bounds::ParamBoundsRequest;
pub use entry::{ApprovalDemand, RunAuthorization, authorize, check_approved_in_advance, usage_error};
pub use form::AnswerForm;
pub use lines::changed_lines;
pub use owner::owner_signer;
pub use pins::{ApprovedTree, approved_tree, current_tree, run_pins, token_at, token_path};
pub use plan::{PlanApprovalRequest, PlanChanges, PlanReview};
pub use questions::{RunApprovalRequest, approval_requests};
pub use refused::{differences_text, refuse_run};
pub use remote::{AnswerDraft, RemoteAnswer, RequestName, SubmittedAnswer, draft_answer, submit_answer};
pub use remote_goal::{GoalDraft, GoalSignature, draft_goal_signature, submit_goal_signature};
pub use resumed::reauthorize;
pub use review::{AskedTerms, TokenReview};
pub use rules::SigningRules;
pub use settings::workspace_settings;
pub use signing::{SigningOptions, agree, approver_key, validity};
pub use standing::{CarriedApproval, authorize_goal, spawned_goal};
pub use token::{draft_statement, plan_ref, read_token, use_count};
pub use withdrawal::{StandingApproval, standing_approval, withdrawal_time};
