//! What a run that repeats another takes over of it, and what it runs again.
//!
//! A result is kept if its step succeeded, means the same now, reads no parameter that changed,
//! depends on nothing that runs again, and is what its run left; a [`Choice`] can ask for more or for less. The runs
//! nested in the repeated one are looked at when their turn comes, in the same way.
//!
//! **Invariant:** what is decided follows from what is recorded: the repeated run, both plans,
//! the parameters, the choice, and the results that were found to be not what they were. So a
//! resume decides as the first engine did.

mod choice;
mod decide;
mod fate;
mod meaning;
mod past;
mod reads;
mod rows;
#[cfg(test)]
mod tests;

pub use choice::Choice;
pub use fate::{Again, Fate, Reason};
pub use meaning::definition;
pub use past::{Ask, Past};
pub use rows::{items, nested_run};
