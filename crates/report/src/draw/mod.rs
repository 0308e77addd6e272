//! A plan as a picture.
//!
//! A [`PlanSketch`] is a plan reduced to the content of a picture: boxes, arrows, and the groups of
//! boxes. The formats differ only in their notation.

mod dot;
mod mermaid;
mod sketch;
mod svg;
#[cfg(test)]
mod tests;

pub use dot::dot;
pub use mermaid::mermaid;
pub use sketch::{PlanSketch, SketchNode, SketchZone};
pub use svg::svg;
