//! The commands about the state and the program itself: its backup, its examination, and its schemas.
//!
//! Start at `doctor`; `upgrade_outlook` is its part about the runs interrupted by an upgrade.

pub mod backup;
pub mod completions;
pub mod doctor;
pub mod restore;
pub mod schema;
mod upgrade_outlook;
