//! Attacks on approvals, and the approval that they start from.

mod attacks;
pub(super) mod fixture;
mod forged;
