//! Reads the file in which a step leaves its outputs.

use crate::model::{Object, Output};

/// The values of an output file, or everything that is wrong with it.
pub fn parse(_text: &str, _declared: &[Output]) -> Result<Object, Vec<String>> {
    todo!()
}

/// Checks values against their declarations: each declared one given, none undeclared.
pub fn check(_given: Object, _declared: &[Output]) -> Result<Object, Vec<String>> {
    todo!()
}
