//! Attacks on approvals, and the approval that they start from.

mod answers;
mod attacks;
pub(super) mod fixture;
mod forged;
