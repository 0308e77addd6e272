//! The dialogues of approvals.
//!
//! **Invariant:** nothing is signed before it was shown.

mod accept;
mod answer;
mod args;
mod bounds;
mod editor;
pub mod plan;
mod typed;
mod view;

pub use accept::{accept_goal, accept_goals};
pub use answer::{AnswerArgs, GoingOnArgs, answer_approval};
pub use args::ApprovalArgs;
pub use typed::TypedAnswerArgs;
