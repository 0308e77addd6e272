//! The Agent Skills standard: a skill is a folder with a `SKILL.md`, which is YAML front matter
//! with a `name` and a `description`, and Markdown.
//!
//! A skill's text is data of somebody else. **Invariant:** nothing of it is executed here, and
//! reading it has bounds in size, depth and number.

mod bundle;
pub mod disk;
mod fences;
mod load;
mod reference;
#[expect(
    clippy::module_inception,
    reason = "a skill is what the module is about"
)]
mod skill;
mod standard;
#[cfg(test)]
mod tests;
mod words;
mod yaml;

pub use bundle::{Bundle, BundleFile};
pub use load::{MAX_TEXT, load};
pub use reference::{MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, NoText, reference};
pub use skill::{Finding, Skill};
pub use standard::standard;
