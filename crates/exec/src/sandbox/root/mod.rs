//! The view of files in a sandbox: a new root, with nothing but the requested mounts.
//!
//! ```text
//! spec ──▶ view: which parts of the system;  grants: which parts of the workspace ──▶ mounts ──▶ mount, one by one
//!          copies, git_folders: what appears as it was;  programs: only those that are named
//! ```
//!
//! It is used by the inner stage, and to know beforehand the files a sandbox hides.
//! **Invariant:** no link is followed where it could lead out of what is shown. **Invariant:** what `private` finds and
//! what `places` never shows stays hidden, whatever a grant says.
//!
//! Start at `mounts`, then `mount` and `grants`; `places` and `private` are what all of it knows of the system.

mod copies;
mod git_folders;
mod grants;
mod mount;
pub(super) mod mounts;
pub(super) mod places;
pub(super) mod private;
mod programs;
mod view;
