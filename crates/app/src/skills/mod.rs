//! Skills of a workspace: installation, inspection and approval, and the check before a plan may
//! use them (Silas 10.4, INV-06).
//!
//! [`inspect_skill`] reads and inspects a skill with the detectors of the gates, [`trial`](trial::try_scripts)
//! tries its scripts, [`put`] changes its folder, [`approve_skill`] shows
//! a skill to an approver before the signature, and [`check_all_usable`] checks that
//! all is valid.
//!
//! **Invariant:** `skills.lock` is written last. An install that is cut short leaves a skill that
//! no plan may use, or the earlier one.

pub mod adapted;
pub mod consent;
mod declarations;
pub mod fetch;
mod git;
mod hold;
mod inspect;
pub mod locks;
pub mod needs;
pub mod put;
mod review;
mod shelves;
pub mod tell;
pub mod trial;

pub use declarations::{script_declaration, wf_metadata};
pub use hold::{ApprovedSkill, SkillUseError, check_all_usable, check_usable};
pub use inspect::{InspectedSkill, detect, inspect_skill, own_name};
pub use review::approve_skill;
pub use shelves::{SkillShelves, discover_skills};
