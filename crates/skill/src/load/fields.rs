use std::collections::BTreeMap;

use super::{
    super::{
        reference::{self, FIELDS},
        skill::{Skill, SkillFinding},
        words::{length, normal, strip},
    },
    SkillFrontMatter,
};
use wf_base::{
    source::Span,
    yaml::{YamlEntry, YamlNode, YamlNotation, YamlValue},
};

/// Fields that only some clients read.
const EXTENSIONS: [&str; 11] = [
    "agent",
    "argument-hint",
    "context",
    "disable-model-invocation",
    "effort",
    "hooks",
    "model",
    "paths",
    "shell",
    "user-invocable",
    "when_to_use",
];

/// The key of `metadata` holding wf's own keys.
const OWN: &str = "wf";

/// Takes the fields of a front matter.
pub(super) fn skill(
    front: &SkillFrontMatter<'_>,
    folder: &str,
    warnings: Vec<SkillFinding>,
) -> Result<Skill, Vec<SkillFinding>> {
    let mut fields = SkillFieldReader { front, warnings };
    let name = fields.name(folder);
    let description = fields.description().map_err(|finding| vec![finding])?;
    let license = fields.text("license", "LICENSE-TYPE");
    let compatibility = fields.text("compatibility", "COMPAT-TYPE");
    fields.long_compatibility(compatibility.as_deref());
    let allowed_tools = fields.tools();
    let own = fields.wf_metadata_span();
    let metadata = fields.metadata();
    fields.unknown();
    Ok(Skill {
        name,
        description,
        license,
        compatibility,
        allowed_tools,
        metadata,
        own,
        body: front.body,
        warnings: fields.warnings,
    })
}

struct SkillFieldReader<'a> {
    front: &'a SkillFrontMatter<'a>,
    warnings: Vec<SkillFinding>,
}

impl<'a> SkillFieldReader<'a> {
    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.warnings.push(SkillFinding::new(code, span, message));
    }

    fn get(&self, key: &str) -> Option<&'a YamlNode<'static>> {
        self.front.root.get(key).map(|entry| &entry.value)
    }

    /// Returns the declared name, or that of the folder if the declared one is unusable.
    fn name(&mut self, folder: &str) -> String {
        let Some(node) = self.get("name") else {
            self.warn(
                "NAME-MISSING",
                self.front.root.span,
                "the skill has no `name`; using the name of its folder",
            );
            return normal(folder);
        };
        let name = normal(strip(node.text().unwrap_or("")));
        if name.is_empty() {
            self.warn("NAME-EMPTY", node.span, "the `name` is not a string; using the name of the folder");
            return normal(folder);
        }
        let broken = reference::name_rules(&name, folder, node.span);
        let could_be = broken.iter().all(|rule| matches!(rule.code, "NAME-DIR" | "NAME-LEN"));
        self.warnings.extend(broken);
        if could_be { name } else { normal(folder) }
    }

    fn description(&mut self) -> Result<String, SkillFinding> {
        let help = "describe what the skill does and when to use it";
        let Some(node) = self.get("description") else {
            let message = "the skill has no `description`";
            return Err(SkillFinding::new("DESC-MISSING", self.front.root.span, message).help(help));
        };
        let text = node.text().unwrap_or("");
        if strip(text).is_empty() {
            let message = "the `description` is blank, or not a string";
            return Err(SkillFinding::new("DESC-EMPTY", node.span, message).help(help));
        }
        let (count, most) = (length(text), reference::MAX_DESCRIPTION);
        if count > most {
            let message = format!(
                "the `description` has {count} characters; at most {most} are \
                                   allowed"
            );
            self.warn("DESC-LEN", node.span, message);
        }
        Ok(strip(text).to_owned())
    }

    /// Returns a field that should be text. Any other value is converted to JSON.
    fn text(&mut self, key: &str, code: &'static str) -> Option<String> {
        let node = self.get(key)?;
        match &node.value {
            YamlValue::Text(_) if is_null(node) => None,
            YamlValue::Text(text) => Some(strip(text).to_owned()),
            _ => {
                self.warn(code, node.span, format!("`{key}` is not a string"));
                Some(node.json().to_string())
            }
        }
    }

    fn long_compatibility(&mut self, text: Option<&str>) {
        let (count, most) = (text.map_or(0, length), reference::MAX_COMPATIBILITY);
        if count > most {
            let span = self.get("compatibility").map_or(Span::default(), |node| node.span);
            let message = format!(
                "`compatibility` has {count} characters; at most {most} are \
                                   allowed"
            );
            self.warn("COMPAT-LEN", span, message);
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let Some(node) = self.get("allowed-tools") else {
            return Vec::new();
        };
        match &node.value {
            YamlValue::Text(_) if is_null(node) => Vec::new(),
            YamlValue::Text(text) => {
                let (tools, has_commas) = split_tools(text);
                if has_commas {
                    self.warn("TOOLS-COMMA", node.span, "the standard separates `allowed-tools` by spaces");
                }
                tools
            }
            YamlValue::List(items) => {
                self.warn(
                    "TOOLS-TYPE",
                    node.span,
                    "the standard requires `allowed-tools` to be a single string",
                );
                items.iter().map(stringified).collect()
            }
            _ => {
                self.warn("TOOLS-TYPE", node.span, "`allowed-tools` is not a string; ignored");
                Vec::new()
            }
        }
    }

    fn metadata(&mut self) -> BTreeMap<String, String> {
        let Some(node) = self.get("metadata").filter(|node| !is_null(node)) else {
            return BTreeMap::new();
        };
        let Some(entries) = node.entries() else {
            self.warn("META-TYPE", node.span, "`metadata` is not a mapping; ignored");
            return BTreeMap::new();
        };
        let nested = entries.iter().filter(|entry| entry.value.text().is_none());
        for entry in nested.collect::<Vec<&YamlEntry<'_>>>() {
            let message = format!("`metadata.{}` is not a string; stored as JSON", entry.key);
            self.warn("META-TYPE", entry.at, message);
        }
        let pair = |entry: &YamlEntry<'_>| (entry.key.to_string(), stringified(&entry.value));
        entries.iter().map(pair).collect()
    }

    /// Returns the span of the lines of `metadata.wf`.
    fn wf_metadata_span(&mut self) -> Option<Span> {
        let own = self.get("metadata")?.get(OWN)?;
        if own.value.notation != YamlNotation::Literal || !self.front.has_places {
            let message = "`metadata.wf` is only read below a `|`, in front matter between `---` lines";
            self.warn("OWN", own.at, message);
            return None;
        }
        let span = own.value.span;
        let before = self.front.text.get(..span.range().start).unwrap_or("");
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Some(Span::new(start, span.range().end))
    }

    fn unknown(&mut self) {
        for entry in self.front.root.entries().unwrap_or(&[]) {
            let key = &*entry.key;
            if FIELDS.contains(&key) {
                continue;
            }
            if EXTENSIONS.contains(&key) {
                let message = format!("`{key}` is an extension that some clients support; wf ignores it");
                self.warn("EXT", entry.at, message);
            } else {
                let message = format!("the field `{key}` is not part of the standard");
                let finding = SkillFinding::new("FIELDS", entry.at, message);
                self.warnings.push(finding.help("move it under `metadata`"));
            }
        }
    }
}

pub(crate) fn is_null(node: &YamlNode<'_>) -> bool {
    node.notation == YamlNotation::Plain && matches!(node.text(), Some("" | "~" | "null"))
}

fn stringified(node: &YamlNode<'_>) -> String {
    match node.text() {
        Some(text) => text.to_owned(),
        None => node.json().to_string(),
    }
}

/// Splits at blanks and commas outside of brackets, as `Bash(git diff:*), Read` needs it.
pub(crate) fn split_tools(text: &str) -> (Vec<String>, bool) {
    let mut tools = vec![String::new()];
    let (mut depth, mut has_commas) = (0_usize, false);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_comma = c == ',' && depth == 0;
        has_commas |= is_comma;
        if is_comma || (depth == 0 && c.is_whitespace()) {
            tools.push(String::new());
        } else if let Some(tool) = tools.last_mut() {
            tool.push(c);
        }
    }
    tools.retain(|tool| !tool.is_empty());
    (tools, has_commas)
}
