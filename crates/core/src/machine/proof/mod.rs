//! The proof of results: checks, rework, and evidence that goes stale.
//!
//! **Invariant:** only checks make a result verified.
//!
//! Start at `checks`, phase after phase; `feedback` tells the next attempt what failed, `confirm` checks evidence again.

pub(super) mod feedback;

mod checks;
mod confirm;
