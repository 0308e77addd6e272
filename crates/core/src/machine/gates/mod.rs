//! The gates and approvals: who is asked before something goes on, and what an answer means.
//!
//! **Invariant:** what a gate holds back begins only once the fact that lets it is recorded.
//!
//! Start at `points`, which asks the gates at a point of the run; `escalation` is what follows from a block, `approvals` makes
//! the requests to people, and `answers` is what becomes of them.

pub(super) mod answers;
pub(super) mod approvals;
pub(super) mod points;

mod escalation;
