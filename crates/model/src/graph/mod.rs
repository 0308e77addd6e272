//! Questions about graphs of steps: cycles, dependants, layers, drawings.
//!
//! Works on indices of steps in a list, so it serves a checked plan and a loaded
//! one alike. Every answer takes time linear in steps and dependencies, and in the number of
//! questions if there are many.

mod cycle;
mod layout;
mod needs;
mod upstream;

pub use layout::{PlanLayout, export};
pub use needs::StepGraph;
