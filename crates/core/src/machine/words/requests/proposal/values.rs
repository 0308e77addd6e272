//! The values of a proposal: literal, or templates that read nothing that the same part of the step does not read.

use std::collections::BTreeSet;

use serde_json::Value;

use wf_model::expr::Template;

/// The references that a part of a step reads, as written.
pub(super) struct KnownReads(BTreeSet<String>);

impl KnownReads {
    /// Returns the references of some templates.
    pub(super) fn of<'a>(templates: impl IntoIterator<Item = &'a Template>) -> Self {
        let refs = templates.into_iter().flat_map(Template::refs);
        Self(refs.map(|read| read.name.to_string()).collect())
    }

    /// Reads a template that reads nothing else.
    pub(super) fn template(&self, key: &str, text: &str) -> Result<Template, String> {
        let value = Template::read(text).ok_or_else(|| format!("`{key}` is not a valid template"))?;
        let mut refs = value.refs().iter().map(|read| &read.name);
        match refs.find(|read| !self.0.contains(&read.to_string())) {
            Some(other) => Err(format!("`{key}` reads {other}, which the step does not read")),
            None => Ok(value),
        }
    }

    pub(super) fn value(&self, key: &str, value: &Value) -> Result<Template, String> {
        match value {
            Value::String(text) => self.template(key, text),
            other if other.to_string().contains("{{") => {
                Err(format!("`{key}`: templates are not supported inside a list or an object"))
            }
            other => Ok(Template::of_value(other.clone())),
        }
    }
}
