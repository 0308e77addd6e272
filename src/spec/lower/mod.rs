//! From declarations without errors to the model.

mod check;
mod matrix;
mod plan;
mod step;
#[cfg(test)]
mod tests;

pub use plan::{Defaults, NotLowered, lower};
