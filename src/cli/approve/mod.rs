//! Approvals of plans: made by `wf approve`, asked for before a run begins.
//!
//! [`Rules`] says who may approve in a workspace, [`tree`] what exactly is approved in advance, [`enter`]
//! whether a run may begin, and [`go_on`] whether one that began may go on.
//!
//! **Invariant:** what is refused here has started nothing and has recorded nothing.

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

pub use accept::{Acceptance, accept};
pub use accepted::{accepted, programs_accepted, waits, waits_at};
pub use agree::{agreed, asked};
pub use ask::{AnswerArgs, answer};
pub use entry::{ApprovalArgs, Entered, enter, read as read_token, used as used_token};
pub use lines::changed;
pub use owner::signer;
use pins::{Tree, pins, token_at, token_path, tree, tree_again};
pub use plan::{may_sign, write as write_token};
pub use questions::{Posed, posed};
pub use resumed::go_on;
pub use rules::Rules;
pub use standing::enter_goal;
pub use withdrawal::{Standing, standing};
