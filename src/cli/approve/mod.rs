//! Approvals of plans: made by `wf approve`, asked for before a run begins.
//!
//! [`Rules`] says who may approve in a workspace, [`pins`] what exactly is approved, [`enter`]
//! whether a run may begin, and [`go_on`] whether one that began may go on.
//!
//! **Invariant:** what is refused here has started nothing and has recorded nothing.

mod before;
mod entry;
mod lines;
mod owner;
mod pins;
pub mod plan;
mod refused;
mod resumed;
mod rules;

pub use entry::{ApprovalArgs, Entered, enter};
pub use pins::{pins, token_path};
pub use resumed::go_on;
pub use rules::Rules;
