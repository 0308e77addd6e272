//! Sessions: lines of work of a workspace that are kept apart, put aside and taken up again (Sylk, W01 to W11).
//!
//! Runs, conversations of agents and notes belong to the session in which they began, or to none. A [`SessionRecord`] says
//! how a session is; a [`SessionChange`] is what a person decides about it, and [`SessionRecord::change`] what follows.
//!
//! **Invariant:** a session that is over stays over, and the session that is current is active.

mod change;
mod record;

pub use change::{SessionChange, SessionRefusal};
pub use record::{SessionRecord, SessionState};
