//! The only caller of git.
//!
//! The settings of a repository name programs for git to start, and every writer of the repository can write
//! them. So git runs only in a sandbox showing the repository and the workspace, in which nothing that is
//! written lasts, without a network, the home folder, the state or the keys: see [`GitRepository`]. The folders
//! to show are found without git: see [`GitLocation`].
//!
//! **Invariant:** nothing else in the workspace starts git. **Invariant:** outside of the sandbox runs only
//! [`fetch_commit`], which needs the network, in an empty repository that has no settings of others.

mod fetched;
mod location;
mod repository;
mod trouble;
mod trust;

pub use fetched::fetch_commit;
pub use location::{GitLocation, place_in_repository};
pub use repository::{GitObjects, GitRepository};
pub use trouble::GitError;
pub use trust::RepositoryTrust;
