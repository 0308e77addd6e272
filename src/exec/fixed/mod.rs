//! The files that a command executes or reads as code, as far as its words say so: for approvals.
//!
//! What the words say is pure (`needs`); which files of the workspace that means is looked up (`look`).

mod look;
mod needs;
mod python;
mod table;
mod words;

pub use look::Site;
pub(in crate::exec) use look::{Looked, Role, Said, executed};
pub(in crate::exec) use needs::tidy;
