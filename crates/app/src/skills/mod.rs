//! The examination of skills before one is installed or used.
//!
//! [`inspect_skill`] examines a bundle with the detectors of the gates. **Invariant:** nothing of a skill is
//! executed here.

mod declarations;
mod inspect;

pub use declarations::{script_declaration, wf_metadata};
pub use inspect::{InspectedSkill, detect, inspect_skill, own_name};
