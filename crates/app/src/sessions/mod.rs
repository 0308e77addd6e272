//! The sessions of a workspace: which one something begins in, and what a person changes about them.
//!
//! **Invariant:** a name that is given must be that of a session, and nothing begins in one that is not active.

mod change;
mod choose;

pub use change::{begin_session, change_session, leave_session};
pub use choose::{active_session, named_or_current};
