//! The conversion of declarations without errors to the model.
//!
//! Defaults are completed and matrices expanded here; nothing is checked any more.
//!
//! **Invariant:** lowering is linear in the size of the declarations; each file is lowered once.

mod check;
mod gate;
mod goal;
mod matrix;
mod plan;
mod replan;
mod step;
#[cfg(test)]
mod tests;
mod work;

pub use gate::lower_gate;
pub use goal::lower_goal;
pub use plan::{LoweringError, PlanDefaults, lower, secret_source};
pub use work::dry_run;
