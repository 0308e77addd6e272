//! Spec files: from text to declarations with locations, and on to the model.
//!
//! [`load()`] reads a file and all it uses: the front matter becomes a spanned tree
//! ([`yaml`]), the tree becomes declarations ([`ast`]), and the body's sections are given to their
//! steps. The mistakes are collected in the [`LoadedSpec`], to which `check` adds. [`lower()`] makes
//! the model of it. The times of a goal are read by [`timing()`], together with the file, so a
//! mistake in an expression is reported at its exact characters.
//!
//! **Invariant:** any bytes can be loaded: never a panic, time and memory bounded.

pub mod check;

pub mod ast;
pub mod decode;
mod markdown;
pub mod yaml;

mod body;
mod document;
mod files;
mod load;
mod loaded;
mod lower;
mod prose;
mod schema;
mod skills;
mod sylk;
mod timing;

pub use document::part;
pub use files::{DiskFiles, FileReadError, InMemoryFiles, MAX_FILE, SpecFileSource};
pub use load::{MAX_FILES, MAX_USES, load, load_with, no_gate};
pub use loaded::{GATES, LoadedSpec, gate_path};
pub use lower::{LoweringError, PlanDefaults, dry_run, lower, lower_gate, lower_goal, secret_source};
pub use prose::{document_html, message_html, prose_html};
pub use schema::{
    dag_schema, gate_schema, goal_schema, persona_schema, plan_schema, schema_of, skill_schema,
};
pub use skills::{LoadedSkill, SKILL_FILE, find as find_skill, own as skill_own, read as read_skill};
pub use sylk::{SylkFile, SylkImport, SylkMistake, import_sylk};
pub use timing::timing;

/// True if this build reads secrets from the keyring of the user.
pub const READS_KEYRING: bool = cfg!(feature = "keyring");
