//! What changes in meaning between two versions of a plan, for somebody who reviews it.
//!
//! Two [`Consent`](super::consent::Consent)s are compared line by line, so that what an approver
//! sees and what a reviewer sees cannot fall apart. What only changes how a file is written changes
//! no line.
//!
//! **Invariant:** what lets more happen, or more pass, is said as that ([`Way::Looser`]) and comes
//! first; where nobody can say the direction, it is a plain change, never a narrowing.

mod change;
mod find;
#[cfg(test)]
mod tests;
mod text;

pub use change::{Change, Diff, Moved, Way};
pub use find::diff;
