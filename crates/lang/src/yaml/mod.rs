//! The YAML of files of `wf`: [`wf_base::yaml`] by the core schema, of which every oddity is a mistake.

mod mistakes;

pub use mistakes::read;
pub use wf_base::yaml::{YamlEntry, YamlNode, YamlValue};
