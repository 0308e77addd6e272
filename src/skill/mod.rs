//! The Agent Skills standard: a skill is a folder with a `SKILL.md`, which is YAML front matter
//! with a `name` and a `description`, and Markdown.
//!
//! A skill's text is data of somebody else. **Invariant:** nothing of it is executed here, and
//! reading it has bounds in size, depth and number.

mod bundle;
pub mod disk;
mod load;
#[expect(
    clippy::module_inception,
    reason = "a skill is what the module is about"
)]
mod skill;

pub use bundle::{Bundle, BundleFile};
pub use load::load;
pub use skill::{Finding, Skill};
