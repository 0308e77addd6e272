//! The commands that work with a server elsewhere: `wf --server URL COMMAND`.
//!
//! Each asks the interface for programs for what it does here, and prints it in the same form. A text for people comes from the
//! server as it is printed there; a run is followed by its events, as one that is executed here.
//!
//! **Invariant:** nothing of the workspace here is read or changed, except for the keys of this user, with which an answer is signed.
//!
//! Start at `dispatch`.

mod answers;
mod dispatch;
mod looking;
mod running;

pub use dispatch::{ServerArgs, run};
