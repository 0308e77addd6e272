//! Approvals of plans: created by `wf approve`, required before a run starts.
//!
//! [`SigningRules`] defines who may approve in a workspace, [`approved_tree`] what exactly is approved in advance,
//! [`authorize`] decides if a run may start, and [`reauthorize`] if a started run may be resumed.
//!
//! **Invariant:** a refusal here has started nothing and has recorded nothing.

mod accept;
mod accepted;
mod agree;
mod ask;
mod before;
mod bounds;
mod entry;
mod lines;
mod owner;
mod pins;
pub mod plan;
mod questions;
mod refused;
mod resumed;
mod rules;
mod skilled;
mod standing;
mod view;
mod withdrawal;

pub use accept::{AcceptanceArgs, accept_goal};
pub use accepted::{awaited_acceptance, awaited_acceptance_at, check_accepted, check_programs_accepted};
pub use agree::{confirm, confirmed};
pub use ask::{AnswerArgs, answer_approval};
pub use entry::{ApprovalArgs, RunAuthorization, authorize, read_token, use_count as used_token};
pub use lines::changed_lines;
pub use owner::owner_signer;
use pins::{ApprovedTree, approved_tree, current_tree, run_pins, token_at, token_path};
pub use plan::{check_can_sign, write_token};
pub use questions::{RunApprovalRequest, approval_requests};
pub use resumed::reauthorize;
pub use rules::SigningRules;
pub use standing::authorize_goal;
pub use withdrawal::{StandingApproval, standing_approval};
