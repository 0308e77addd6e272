//! Skills of a workspace: how they get in, what is looked at and signed for that, and whether a
//! plan may use them (Silas 10.4, INV-06).
//!
//! [`study`] reads and inspects a skill, [`trial`](trial::trial) tries its scripts, [`put`] is how its
//! folder changes, [`consent`] how people sign, and [`hold`](hold()) whether all that holds.
//!
//! **Invariant:** `skills.lock` is written last. Whatever ends an install before leaves a skill that
//! no plan may use, or the one that was there.

pub mod adapted;
pub mod consent;
mod declared;
pub mod fetch;
mod git;
mod hold;
pub mod locks;
pub mod needs;
pub mod place;
pub mod put;
pub mod study;
pub mod tell;
pub mod trial;

pub use hold::{Held, Wrong, hold, one};
