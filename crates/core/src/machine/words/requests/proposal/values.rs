//! The values of a proposal: literal, or templates with no more references than the same part of the step.

use std::collections::BTreeSet;

use serde_json::Value;

use super::mistake::ProposalMistake;
use wf_model::expr::Template;

/// The references read by a part of a step, as written.
pub(super) struct KnownReads(BTreeSet<String>);

impl KnownReads {
    /// Returns the references of some templates.
    pub(super) fn of<'a>(templates: impl IntoIterator<Item = &'a Template>) -> Self {
        let refs = templates.into_iter().flat_map(Template::refs);
        Self(refs.map(|read| read.name.to_string()).collect())
    }

    /// Reads a template that reads nothing else.
    pub(super) fn template(&self, key: &str, text: &str) -> Result<Template, ProposalMistake> {
        let value = Template::read(text).ok_or_else(|| ProposalMistake::NotTemplate(key.to_owned()))?;
        let mut refs = value.refs().iter().map(|read| &read.name);
        match refs.find(|read| !self.0.contains(&read.to_string())) {
            Some(other) => {
                Err(ProposalMistake::OtherRead { key: key.to_owned(), reference: other.to_string() })
            }
            None => Ok(value),
        }
    }

    pub(super) fn value(&self, key: &str, value: &Value) -> Result<Template, ProposalMistake> {
        match value {
            Value::String(text) => self.template(key, text),
            other if other.to_string().contains("{{") => Err(ProposalMistake::NestedTemplate(key.to_owned())),
            other => Ok(Template::of_value(other.clone())),
        }
    }
}
