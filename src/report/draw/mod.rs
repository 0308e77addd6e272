//! A plan as a picture.
//!
//! A [`Sketch`] is a plan reduced to what a picture shows: boxes, arrows, and which boxes belong
//! together. The formats differ only in how they write it.

mod dot;
mod mermaid;
#[cfg(test)]
mod sample;
mod sketch;
mod svg;

pub use dot::dot;
pub use mermaid::mermaid;
pub use sketch::{Node, Sketch, Zone};
pub use svg::svg;
