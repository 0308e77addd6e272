//! Skills of a workspace: installation, inspection and approval, and the check before a plan may
//! use them (Silas 10.4, INV-06).
//!
//! [`inspect_skill`](wf_app::skills::inspect_skill) reads and inspects a skill, [`trial`](trial::try_scripts)
//! tries its scripts, [`put`] changes its folder, [`consent`] signs, and [`hold::check_all_usable`] checks that
//! all is valid.
//!
//! **Invariant:** `skills.lock` is written last. An install that is cut short leaves a skill that
//! no plan may use, or the earlier one.

pub mod adapted;
pub mod consent;
pub mod fetch;
mod git;
mod hold;
pub mod locks;
pub mod needs;
pub mod place;
pub mod put;
pub mod tell;
pub mod trial;

pub use hold::{ApprovedSkill, SkillUseError, check_all_usable, check_usable};
