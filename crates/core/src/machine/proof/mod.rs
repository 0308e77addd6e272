//! The proof of results: checks, rework, and evidence that goes stale.
//!
//! **Invariant:** only checks make a result verified.
//!
//! Start at `checks`, phase after phase; `confirm` checks evidence again.

pub(super) mod checks;
pub(super) mod confirm;
