//! The front matter of a skill: [`wf_base::yaml`] in which every scalar is text, as it is for the reference validator.
//!
//! Oddities are kept beside the tree: each of the three readers of a `SKILL.md` decides what they mean.

mod document;

pub(super) use document::{SkillYamlDocument, read};
