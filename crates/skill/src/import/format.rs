use super::{adapt::SkillConversionError, rules::rule};
use crate::{
    MAX_NAME, SkillBundle,
    load::split_tools,
    words::{normal, strip},
};
use serde::Serialize;
use wf_base::{
    keywords,
    yaml::{YamlNode, YamlValue},
};

/// The file where one flavour configures the display of a skill in its client.
pub(super) const OPENAI_FILE: &str = "agents/openai.yaml";

keywords! {
    /// The flavour of a skill.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SkillFormat {
        /// The standard alone.
        Standard = "standard",
        /// With the fields of Claude Code.
        Claude = "claude",
        /// With the fields or the files of Codex and compatible clients.
        Openai = "openai",
    }
}

/// Detects the flavour, and returns the evidence.
pub(super) fn recognise(root: &YamlNode<'_>, bundle: &SkillBundle) -> (SkillFormat, String) {
    if bundle.files.contains_key(OPENAI_FILE) {
        return (SkillFormat::Openai, format!("it has {OPENAI_FILE}"));
    }
    let fields = |format: SkillFormat| -> Vec<String> {
        let entries = root.entries().unwrap_or(&[]).iter();
        let own = entries.filter(|entry| rule(&entry.key).is_some_and(|(of, _)| of == format));
        own.map(|entry| format!("`{}`", entry.key)).collect()
    };
    let (mut claude, openai) = (fields(SkillFormat::Claude), fields(SkillFormat::Openai));
    let tools = root.get("allowed-tools").map(|entry| &entry.value.value);
    let is_odd = match tools {
        Some(YamlValue::Text(text)) => split_tools(text).1,
        Some(YamlValue::List(_)) => true,
        _ => false,
    };
    if is_odd {
        claude.push("`allowed-tools` as a list or with commas".to_owned());
    }
    match (claude.len(), openai.len()) {
        (0, 0) => (SkillFormat::Standard, "no field or file of another format".to_owned()),
        (one, other) if one >= other => (SkillFormat::Claude, format!("it has {}", claude.join(", "))),
        _ => (SkillFormat::Openai, format!("it has {}", openai.join(", "))),
    }
}

/// Returns the name in the form of the standard: `My Skill_2` becomes `my-skill-2`.
pub(super) fn standard_name(original: &str) -> Result<String, SkillConversionError> {
    let lower = normal(strip(original)).to_lowercase();
    let is_gap = |c: char| c == '-' || c == '_' || c.is_whitespace();
    let words: Vec<&str> = lower.split(is_gap).filter(|word| !word.is_empty()).collect();
    let name = words.join("-");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain) {
        return Ok(name);
    }
    let shortened: String = original.chars().take(100).collect();
    let message = format!(
        "cannot turn `{}` into a valid name: a-z, 0-9 and single hyphens, at most {MAX_NAME} \
         characters",
        shortened.escape_debug()
    );
    Err(SkillConversionError::new(message, "set one: --name NAME"))
}
