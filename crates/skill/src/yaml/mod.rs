//! The front matter of a skill: [`wf_base::yaml`] in which every scalar is text, as it is for the reference
//! validator, and oddities are kept.

mod document;

pub(super) use document::{SkillYamlDocument, read};
