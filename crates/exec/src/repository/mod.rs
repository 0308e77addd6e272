//! Git repositories below a workspace, as git finds them: by the names in a folder.
//!
//! Git starts programs the settings and the hooks of a repository name as soon as it is called in that folder, which
//! the prompt of a shell does by itself. So whoever can create a repository can have a program started, outside of any
//! sandbox, by a person who looks at it.
//!
//! ```text
//! before an attempt   RepositoryGuard::record ──▶ walk     those that are there: shown read-only
//! after it            RepositoryGuard::violation ─▶ walk   others are put aside, and the attempt fails
//! a tool of an agent  layout::made_by                      no file is written that makes one
//! ```

mod aside;
mod guard;
mod layout;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use aside::put_aside;
pub(crate) use guard::RepositoryGuard;
pub(crate) use layout::made_by;
