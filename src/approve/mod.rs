//! The dialogues of approvals.
//!
//! **Invariant:** what is signed was shown first.

mod accept;
mod args;
mod ask;
mod bounds;
pub mod plan;
mod view;

pub use accept::{AcceptanceArgs, accept_goal};
pub use args::ApprovalArgs;
pub use ask::{AnswerArgs, answer_approval};
