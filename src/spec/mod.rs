//! Spec files: from text to declarations with places, and on to the model.

pub mod ast;
pub mod decode;
pub mod yaml;

mod loaded;
mod path;
mod text_part;

pub use loaded::Loaded;
pub use text_part::part;
