//! The Agent Skills standard: a skill is a folder with a `SKILL.md`, which is YAML front matter
//! with a `name` and a `description`, and Markdown.
//!
//! A skill's text is untrusted data. **Invariant:** nothing of it is executed here, and reading it
//! has bounds in size, depth and number.

mod bundle;
pub mod bundled;
mod discover;
pub mod disk;
pub mod import;
pub mod inspect;
mod load;
pub mod lock;
mod origin;
mod prompt;
mod reference;
mod search;
mod skill;
mod standard;
#[cfg(test)]
mod tests;
mod verdict;
mod words;
mod yaml;

pub use bundle::{BundleFile, SkillBundle, shebang};
pub use discover::{
    DiscoveredSkill, OmittedFolders, SHELVES, ShelfError, SkillDiscovery, SkillFolderReader,
    SkillSearchFolder, discover, shelves,
};
pub use load::{MAX_TEXT, load};
pub use origin::{SkillOrigin, SkillOriginError};
pub use prompt::{PromptSkill, ascii_json, prompt, properties};
pub use reference::{MAX_COMPATIBILITY, MAX_DESCRIPTION, MAX_NAME, SkillTextError, reference};
pub use search::{SearchableSkill, search};
pub use skill::{ScriptDeclaration, ScriptDeclarations, Skill, SkillFinding};
pub use standard::standard;
pub use verdict::{SkillVerdict, ValidationProfile, ValidationSubject, validate};
