//! Approvals of plans, required before a run starts.
//!
//! [`SigningRules`] defines who may approve in a workspace, [`approved_tree`] what exactly is approved in advance,
//! [`authorize`] decides if a run may start, and [`reauthorize`] if a started run may be resumed.
//!
//! **Invariant:** a refusal here has started nothing and has recorded nothing.

mod accepted;
mod agree;
mod before;
mod entry;
mod lines;
mod owner;
mod pins;
mod questions;
mod refused;
mod resumed;
mod rules;
mod skilled;
mod standing;
mod token;
mod withdrawal;

pub use accepted::{
    acceptance_path, awaited_acceptance, awaited_acceptance_at, check_accepted, check_programs_accepted,
    reviewed_files,
};
pub use agree::{confirm, confirmed};
pub use before::text_by_digest;
pub use entry::{ApprovalDemand, RunAuthorization, authorize, usage_error};
pub use lines::changed_lines;
pub use owner::owner_signer;
pub use pins::{ApprovedTree, approved_tree, current_tree, run_pins, token_at, token_path};
pub use questions::{RunApprovalRequest, approval_requests, late_answer_message, pending_request};
pub use refused::{differences_text, refuse_run};
pub use resumed::reauthorize;
pub use rules::{SigningRules, check_can_sign};
pub use standing::{authorize_goal, spawned_goal};
pub use token::{draft_statement, plan_ref, read_token, use_count, write_token};
pub use withdrawal::{StandingApproval, standing_approval, withdrawal_time};
