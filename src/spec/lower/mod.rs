//! From declarations without errors to the model.
//!
//! **Invariant:** what is lowered was found without errors; anything else is refused as a whole.

mod check;
mod matrix;
mod plan;
mod step;
#[cfg(test)]
mod tests;

pub use plan::{Defaults, NotLowered, lower};
