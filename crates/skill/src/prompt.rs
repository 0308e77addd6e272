//! The output of the reference package about skills, for programs and models.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{
    reference::{self, require, require_text},
    skill::SkillFinding,
};
use wf_base::yaml::YamlNode;

/// One skill of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSkill {
    pub name: String,
    pub description: String,
    /// The absolute path of its SKILL.md.
    pub location: String,
}

/// Returns the block of XML listing the skills for a model. As in the reference package, the
/// location is inserted unescaped.
pub fn prompt(skills: &[PromptSkill]) -> String {
    let mut lines = vec!["<available_skills>".to_owned()];
    for offer in skills {
        lines.push("<skill>".into());
        for (tag, text) in [
            ("name", escaped(&offer.name)),
            ("description", escaped(&offer.description)),
            ("location", offer.location.clone()),
        ] {
            lines.push(format!("<{tag}>\n{text}\n</{tag}>"));
        }
        lines.push("</skill>".into());
    }
    lines.push("</available_skills>\n".into());
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#x27;"),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns the properties of a skill as the reference package reads them: it requires only a name
/// and a description.
///
/// A list or mapping below `metadata` is given as JSON in a text, where the reference package gives
/// Python's output.
pub fn properties(text: &str) -> Result<Map<String, Value>, SkillFinding> {
    let root = reference::read_root(text)?;
    let name = require(&root, "NAME-MISSING", "name")?;
    let description = require(&root, "DESC-MISSING", "description")?;
    let mut properties = Map::new();
    properties.insert("name".into(), require_text(name, "NAME-EMPTY", "name")?.into());
    properties.insert("description".into(), require_text(description, "DESC-EMPTY", "description")?.into());
    let get = |key: &str| root.get(key).map(|entry| &entry.value);
    for key in ["license", "compatibility", "allowed-tools"] {
        if let Some(node) = get(key) {
            properties.insert(key.into(), node.json());
        }
    }
    match get("metadata").map(|node| (node.entries(), node)) {
        None => {}
        Some((Some(entries), _)) => {
            let text = |node: &YamlNode<'_>| match node.text() {
                Some(text) => text.to_owned(),
                None => node.json().to_string(),
            };
            let pairs = entries.iter().map(|entry| (entry.key.to_string(), text(&entry.value).into()));
            properties.insert("metadata".into(), Value::Object(pairs.collect()));
        }
        Some((None, node)) if node.text() == Some("") => {}
        Some((None, node)) => drop(properties.insert("metadata".into(), node.json())),
    }
    Ok(properties)
}

/// Formats JSON with two blanks per level and only ASCII, as Python does.
pub fn ascii_json(value: &Map<String, Value>) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut ascii = String::with_capacity(pretty.len());
    for c in pretty.chars() {
        if c <= '~' {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::{PromptSkill, ascii_json, prompt, properties};

    #[test]
    fn a_prompt_is_as_the_reference_package_writes_it() {
        assert_eq!(prompt(&[]), "<available_skills>\n</available_skills>\n");
        let offer = PromptSkill {
            name: "a".into(),
            description: "<b> & \"c\" 'd'".into(),
            location: "/x<y/SKILL.md".into(),
        };
        let expected = "<available_skills>\n<skill>\n<name>\na\n</name>\n<description>\n\
            &lt;b&gt; &amp; &quot;c&quot; &#x27;d&#x27;\n</description>\n<location>\n\
            /x<y/SKILL.md\n</location>\n</skill>\n</available_skills>\n";
        assert_eq!(prompt(&[offer]), expected);
    }

    #[test]
    fn properties_are_as_the_reference_package_writes_them() {
        let text = "---\nname: \" A_b \"\ndescription: é🦀\nallowed-tools:\n  - Read\nmetadata:\n  v: 1.0\nx: y\n---\n";
        let expected = "{\n  \"name\": \"A_b\",\n  \"description\": \"\\u00e9\\ud83e\\udd80\",\n  \
            \"allowed-tools\": [\n    \"Read\"\n  ],\n  \"metadata\": {\n    \"v\": \"1.0\"\n  }\n}";
        assert_eq!(ascii_json(&properties(text).unwrap()), expected);
        for (text, says) in [
            ("---\nname: ''\n---\n", "Missing required field in frontmatter: description"),
            ("---\nname: ''\ndescription: d\n---\n", "Field 'name' must be a non-empty string"),
            ("x", "SKILL.md must start with YAML frontmatter (---)"),
        ] {
            assert_eq!(properties(text).unwrap_err().message, says);
        }
    }
}
