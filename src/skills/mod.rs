//! The dialogue of an installation: a skill is shown, tried and signed for.
//!
//! **Invariant:** nothing is installed that was not shown.

mod args;
pub mod place;

pub use args::{AcceptDangerArgs, SkillSigningArgs};
