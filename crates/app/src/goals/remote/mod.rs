//! Goals under a backend: their workspace hands them over, records what happens to them there, and
//! takes them back.
//!
//! ```text
//! deploy ──▶ deployment: the freight to there ──▶ goal_backend: the program at the backend
//! sync   ◀── what happened there, as events of the workspace;  request: a reconciliation now;  recall: the end
//! ```
//!
//! **Invariant:** one place decides about a goal: who deploys it, records it or recalls it has its lock.
//! **Invariant:** what is recorded twice is there once.
//!
//! Start at `deployment`, the words for what is carried; then `deploy` and `sync`. `deployed` is what everyone else asks.

pub(super) mod deploy;
pub(super) mod deployed;
pub(super) mod deployment;
mod goal_backend;
pub(super) mod recall;
pub(super) mod request;
pub(super) mod sync;
mod sync_lock;
