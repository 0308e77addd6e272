//! The Agent Skills standard: a skill is a folder with a `SKILL.md`, which is YAML front matter
//! with a `name` and a `description`, and Markdown.
//!
//! A skill's text is data of somebody else. **Invariant:** nothing of it is executed here, and
//! reading it has bounds in size, depth and number.

mod bundle;
pub mod bundled;
mod declared;
mod discover;
pub mod disk;
mod fences;
pub mod import;
pub mod inspect;
mod load;
pub mod lock;
mod origin;
mod prompt;
mod reference;
mod search;
mod shebang;
#[expect(
    clippy::module_inception,
    reason = "a skill is what the module is about"
)]
mod skill;
mod standard;
#[cfg(test)]
mod tests;
mod verdict;
mod words;
mod yaml;

pub use bundle::{Bundle, BundleFile};
pub use declared::{Declared, DeclaredScript};
pub use discover::{Discovery, Found, LeftOut, Look, SHELVES, Shelf, discover, shelves};
pub use load::{MAX_TEXT, load};
pub use origin::{BadOrigin, Origin};
pub use prompt::{Offer, ascii_json, prompt, properties};
pub use reference::{MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, NoText, reference};
pub use search::{Searched, search};
pub use shebang::shebang;
pub use skill::{Finding, Skill};
pub use standard::standard;
pub use verdict::{Profile, Subject, Verdict, verdict};
