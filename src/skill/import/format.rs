use serde::Serialize;

use super::rules::rule;
use crate::skill::Bundle;
use crate::skill::load::split_tools;
use crate::skill::yaml::{Node, Value};

/// The file with which one flavour says how a skill is shown in its client.
pub(super) const OPENAI_FILE: &str = "agents/openai.yaml";

/// The flavour of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The standard alone.
    Standard,
    /// With the fields of Claude Code.
    Claude,
    /// With the fields or the files of Codex and those who do alike.
    Openai,
}

impl Format {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Claude => "claude",
            Self::Openai => "openai",
        }
    }
}

/// Finds out the flavour, and says by what.
pub(super) fn recognise(root: &Node, bundle: &Bundle) -> (Format, String) {
    if bundle.files.contains_key(OPENAI_FILE) {
        return (Format::Openai, format!("it has {OPENAI_FILE}"));
    }
    let fields = |format: Format| -> Vec<String> {
        let entries = root.entries().unwrap_or(&[]).iter();
        let own = entries.filter(|entry| rule(&entry.key).is_some_and(|(of, _)| of == format));
        own.map(|entry| format!("`{}`", entry.key)).collect()
    };
    let (mut claude, openai) = (fields(Format::Claude), fields(Format::Openai));
    let tools = root.get("allowed-tools").map(|entry| &entry.value.value);
    let is_odd = match tools {
        Some(Value::Text(text)) => split_tools(text).1,
        Some(Value::List(_)) => true,
        _ => false,
    };
    if is_odd {
        claude.push("`allowed-tools` as a list or with commas".to_owned());
    }
    match (claude.len(), openai.len()) {
        (0, 0) => (
            Format::Standard,
            "no field or file of another flavour".to_owned(),
        ),
        (one, other) if one >= other => (Format::Claude, format!("it has {}", claude.join(", "))),
        _ => (Format::Openai, format!("it has {}", openai.join(", "))),
    }
}
