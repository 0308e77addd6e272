//! The manifest of a workspace: every file and folder with its metadata, at one instant.
//!
//! ```text
//! when a run begins      of_workspace(root) ── recorded beside the run ──▶ start
//! around each check      of_workspace(root) ──▶ now
//!                        ManifestDifference::between(start, now, rules) ──▶ changed: the check does not count
//!                                                                               hidden:  the check does not see it
//! ```
//!
//! Only names, kinds, modes, inodes, sizes and times are read: a file changed and put back counts as changed. Where an
//! approval covers the content of files, each is read once (`content`).
//!
//! **Invariant:** a walk follows no link and leaves no folder by name: it goes from descriptor to
//! descriptor.

mod content;
mod difference;
mod leftover;
#[expect(clippy::module_inception, reason = "the module is named after what it holds")]
mod manifest;
mod text;
mod walk;

pub use content::FileContent;
pub use difference::{DifferenceRules, ManifestDifference};
pub use leftover::LeftoverRule;
pub use manifest::WorkspaceManifest;

use manifest::{ManifestFolder, ManifestNode};

pub use text::ManifestError;
pub use walk::ExcludedFiles;
