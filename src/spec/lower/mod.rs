//! From declarations without errors to the model.

mod check;
mod matrix;
mod plan;
mod step;

pub use plan::{Defaults, NotLowered, lower};
