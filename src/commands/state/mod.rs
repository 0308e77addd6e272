//! The commands about the state and the program itself: its backup, its examination, and its schemas.
//!
//! Start at `doctor`; `upgrade_outlook` is the part of it that says which runs an upgrade would interrupt.

pub mod backup;
pub mod completions;
pub mod doctor;
pub mod restore;
pub mod schema;
mod upgrade_outlook;
