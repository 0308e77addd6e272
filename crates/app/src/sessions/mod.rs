//! The sessions of a workspace: which one something begins in, and what a person changes about them.
//!
//! Start at `choose`; `opened` is a session with its runs and notes, `checkpoint` what a person reads of it.
//!
//! **Invariant:** a given name must be that of a session, and nothing begins in an inactive one.

mod change;
mod checkpoint;
mod choose;
mod opened;

pub use change::{begin_session, change_session, leave_session};
pub use checkpoint::{SessionSummary, list_sessions, session_checkpoint};
pub use choose::active_session;
use choose::named_or_current;
pub use opened::OpenedSession;
