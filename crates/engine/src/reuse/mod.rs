//! Runs repeating another: the results they reuse, and the steps they run again.
//!
//! A result is reused if its step succeeded, means the same now, reads no parameter that changed, depends on
//! nothing that runs again, and is as its run left it; a [`RepeatChoice`] can ask for more or for less. The runs
//! nested in the repeated one are examined when their turn comes, in the same way.
//!
//! **Invariant:** every decision follows from the record: the repeated run, both plans, the parameters, the
//! choice, and the dropped results. So a resume decides as the first engine did.
//!
//! Start at `past`, then `decide`, which gives each step its `fate`; `rows` and `reads` are what it decides by.

mod choice;
mod decide;
mod fate;
mod past;
mod reads;
mod rows;
#[cfg(test)]
mod tests;

pub use choice::RepeatChoice;
pub use fate::{RerunReason, StepFate, StepRerun};
pub use past::{RepeatRequest, RepeatedRun};
pub(crate) use rows::add_item_digests;
pub use rows::{items, nested_run};
