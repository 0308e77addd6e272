//! Questions about graphs of steps: circles, who comes after whom, layers, drawings.
//!
//! Works on places of steps in a list, so that it serves a plan that is checked and one that is
//! loaded alike. Every answer takes time linear in steps and dependencies, and in the number of
//! questions where there are many.

mod critical;
mod cycle;
mod layout;
mod needs;
mod tree;
mod upstream;

pub use layout::{Layout, export};
pub use needs::Graph;
