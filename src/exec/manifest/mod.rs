//! The manifest of a workspace: every file and folder with what the system says of it, at an instant.
//!
//! ```text
//! when a run begins      Manifest::of(root) ── recorded beside the run ──▶ start
//! around each check      Manifest::of(root) ──▶ now
//!                        Difference::between(start, now, rules) ──▶ changed: the check does not count
//!                                                                      hidden:  the check does not see it
//! ```
//!
//! Nothing is read but names, kinds, modes, inodes, sizes and times: a file that was changed and put
//! back counts as changed. Where somebody must agree with what is in the files, each is read once
//! ([`Manifest::content`]).
//!
//! **Invariant:** a walk follows no link and leaves no folder by its name: it goes from descriptor to
//! descriptor.

mod content;
mod difference;
#[expect(
    clippy::module_inception,
    reason = "the module is named after what it holds"
)]
mod manifest;
mod text;
mod walk;

pub use difference::{Difference, Rules};
pub use manifest::Manifest;
use manifest::{Folder, Node, Stamp};
pub use text::Malformed;
pub use walk::Excluded;
