//! The gates and approvals: the questions before work goes on, and the meaning of the answers.
//!
//! **Invariant:** work held back by a gate begins only once its permission is recorded.
//!
//! Start at `points`, the questions to the gates at a point of the run; `escalation` follows a block, `approvals` makes
//! the requests to people, and `answers` applies the answers.

pub(super) mod answers;
pub(super) mod approvals;
pub(super) mod points;

mod escalation;
