//! A plan as a picture.
//!
//! A [`PlanSketch`] is a plan reduced to the content of a picture: boxes, arrows, and the groups of
//! boxes. The formats differ only in their notation.
//! [`rounds_plot`] draws the controller of a run.

mod dot;
mod mermaid;
mod plot;
mod sketch;
mod svg;
#[cfg(test)]
pub(crate) mod tests;

pub use dot::dot;
pub use mermaid::mermaid;
pub use plot::rounds_plot;
pub use sketch::{PlanSketch, SketchNode, SketchZone};
pub use svg::svg;
