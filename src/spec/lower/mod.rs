//! From declarations without errors to the model.
//!
//! Defaults are completed and matrices multiplied out here; nothing is judged any more.
//!
//! **Invariant:** lowering costs what the declarations are long, and each file is lowered once.

mod check;
mod gate;
mod goal;
mod matrix;
mod plan;
mod replan;
mod skill;
mod step;
#[cfg(test)]
mod tests;

pub use gate::lower_gate;
pub use goal::lower_goal;
pub use plan::{Defaults, NotLowered, lower};
pub use skill::dry_run;
