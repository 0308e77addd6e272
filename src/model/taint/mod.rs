//! Where values come from, as far as it bears on how far they are trusted (Silas 5.12).
//!
//! [`Taint`] is the word, [`Flow`] what a plan says about who reads what, [`Summary`] what follows
//! from it. A value is as little trusted as the least of what it was made of. Only a recorded
//! approval makes it trusted again: the values that a decision of people shows.
//!
//! What a plan gives is known without its parameters: each [`Mixed`] names the parameters that it
//! hangs on, so that a plan is looked at once, however often it is used.
//!
//! **Invariant:** one more source that is not trusted never makes anything more trusted.

mod flow;
mod mixed;
mod plan;
mod summary;
#[cfg(test)]
mod tests;

pub use flow::{Flow, Made, StepFlow};
pub use mixed::{Mixed, Taint};
pub use plan::{Taints, taints};
pub use summary::{StepTaint, Summary};
