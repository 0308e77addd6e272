//! Child runs an agent starts with the tools `dispatch` and `collect`: what a model may ask for, and what it is told.
//!
//! A call becomes a [`ChildRequest`] only if its plan is one that the step lists and its parameters are valid, so nothing
//! else can be started. `machine::children` decides when a child run begins, and what its end means.

mod definition;
mod report;
mod request;
#[cfg(test)]
mod tests;

pub use definition::dispatch_definition;
pub use report::{ChildReport, ChildrenReport};
pub use request::{ChildChoice, ChildRequest, ChildStart, read_collect, read_dispatch};
