use std::collections::BTreeMap;

use super::super::reference::{self, FIELDS};
use super::super::skill::{Finding, Skill};
use super::super::words::{length, normal, strip};
use super::super::yaml::{Entry, Form, Node, Value};
use super::Read;
use crate::source::Span;

/// Fields that one client reads and others do not.
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

/// The key of `metadata` that holds wf's own keys.
const OWN: &str = "wf";

/// Takes the fields of a front matter.
pub(super) fn skill(
    read: &Read<'_>,
    folder: &str,
    warnings: Vec<Finding>,
) -> Result<Skill, Vec<Finding>> {
    let mut fields = Fields { read, warnings };
    let name = fields.name(folder);
    let description = fields.description().map_err(|finding| vec![finding])?;
    let license = fields.text("license", "LICENSE-TYPE");
    let compatibility = fields.text("compatibility", "COMPAT-TYPE");
    fields.long_compatibility(compatibility.as_deref());
    let allowed_tools = fields.tools();
    let own = fields.own();
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
        body: read.body,
        warnings: fields.warnings,
    })
}

struct Fields<'a> {
    read: &'a Read<'a>,
    warnings: Vec<Finding>,
}

impl<'a> Fields<'a> {
    fn warn(&mut self, code: &'static str, span: Span, message: impl Into<String>) {
        self.warnings.push(Finding::new(code, span, message));
    }

    fn get(&self, key: &str) -> Option<&'a Node> {
        self.read.root.get(key).map(|entry| &entry.value)
    }

    /// The declared name, or that of the folder if the declared one could be no name.
    fn name(&mut self, folder: &str) -> String {
        let Some(node) = self.get("name") else {
            self.warn(
                "NAME-MISSING",
                self.read.root.span,
                "the skill has no `name`; its folder's is used",
            );
            return normal(folder);
        };
        let name = normal(strip(node.text().unwrap_or("")));
        if name.is_empty() {
            self.warn(
                "NAME-EMPTY",
                node.span,
                "the `name` is not text; the folder's is used",
            );
            return normal(folder);
        }
        let broken = reference::name_rules(&name, folder, node.span);
        let could_be = broken
            .iter()
            .all(|rule| matches!(rule.code, "NAME-DIR" | "NAME-LEN"));
        self.warnings.extend(broken);
        if could_be { name } else { normal(folder) }
    }

    fn description(&mut self) -> Result<String, Finding> {
        let help = "say what the skill does and when to use it";
        let Some(node) = self.get("description") else {
            let message = "the skill has no `description`";
            return Err(Finding::new("DESC-MISSING", self.read.root.span, message).help(help));
        };
        let text = node.text().unwrap_or("");
        if strip(text).is_empty() {
            let message = "the `description` is blank, or is no text";
            return Err(Finding::new("DESC-EMPTY", node.span, message).help(help));
        }
        let (count, most) = (length(text), reference::MAX_DESCRIPTION);
        if count > most {
            let message = format!("the `description` has {count} characters, more than {most}");
            self.warn("DESC-LEN", node.span, message);
        }
        Ok(strip(text).to_owned())
    }

    /// A field that should be text. Anything else is shown as JSON.
    fn text(&mut self, key: &str, code: &'static str) -> Option<String> {
        let node = self.get(key)?;
        match &node.value {
            Value::Text(_) if is_nothing(node) => None,
            Value::Text(text) => Some(strip(text).to_owned()),
            _ => {
                self.warn(code, node.span, format!("`{key}` is no text"));
                Some(node.json().to_string())
            }
        }
    }

    fn long_compatibility(&mut self, text: Option<&str>) {
        let (count, most) = (text.map_or(0, length), reference::MAX_COMPATIBILITY);
        if count > most {
            let span = self
                .get("compatibility")
                .map_or(Span::default(), |node| node.span);
            let message = format!("`compatibility` has {count} characters, more than {most}");
            self.warn("COMPAT-LEN", span, message);
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let Some(node) = self.get("allowed-tools") else {
            return Vec::new();
        };
        match &node.value {
            Value::Text(_) if is_nothing(node) => Vec::new(),
            Value::Text(text) => {
                let (tools, has_commas) = split_tools(text);
                if has_commas {
                    self.warn(
                        "TOOLS-COMMA",
                        node.span,
                        "the standard separates `allowed-tools` by blanks",
                    );
                }
                tools
            }
            Value::List(items) => {
                self.warn(
                    "TOOLS-TYPE",
                    node.span,
                    "the standard has `allowed-tools` as one text",
                );
                items.iter().map(stringified).collect()
            }
            Value::Map(_) => {
                self.warn(
                    "TOOLS-TYPE",
                    node.span,
                    "`allowed-tools` is no text, and is left out",
                );
                Vec::new()
            }
        }
    }

    fn metadata(&mut self) -> BTreeMap<String, String> {
        let Some(node) = self.get("metadata").filter(|node| !is_nothing(node)) else {
            return BTreeMap::new();
        };
        let Some(entries) = node.entries() else {
            self.warn(
                "META-TYPE",
                node.span,
                "`metadata` is no mapping, and is left out",
            );
            return BTreeMap::new();
        };
        let nested = entries.iter().filter(|entry| entry.value.text().is_none());
        for entry in nested.collect::<Vec<&Entry>>() {
            let message = format!("`metadata.{}` is no text; it is kept as JSON", entry.key);
            self.warn("META-TYPE", entry.at, message);
        }
        let pair = |entry: &Entry| (entry.key.clone(), stringified(&entry.value));
        entries.iter().map(pair).collect()
    }

    /// Where the lines of `metadata.wf` stand.
    fn own(&mut self) -> Option<Span> {
        let own = self.get("metadata")?.get(OWN)?;
        if own.value.form != Form::Literal || !self.read.has_places {
            let message =
                "`metadata.wf` is read only below a `|`, in front matter between `---` lines";
            self.warn("OWN", own.at, message);
            return None;
        }
        let span = own.value.span;
        let before = self.read.text.get(..span.range().start).unwrap_or("");
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        Some(Span::new(start, span.range().end))
    }

    fn unknown(&mut self) {
        for entry in self.read.root.entries().unwrap_or(&[]) {
            let key = entry.key.as_str();
            if FIELDS.contains(&key) {
                continue;
            }
            if EXTENSIONS.contains(&key) {
                let message =
                    format!("`{key}` is an extension that some clients read; wf does not");
                self.warn("EXT", entry.at, message);
            } else {
                let message = format!("the standard has no field `{key}`");
                let finding = Finding::new("FIELDS", entry.at, message);
                self.warnings.push(finding.help("put it below `metadata`"));
            }
        }
    }
}

/// Whether a value is what YAML calls null.
pub(in crate::skill) fn is_nothing(node: &Node) -> bool {
    node.form == Form::Plain && matches!(node.text(), Some("" | "~" | "null"))
}

fn stringified(node: &Node) -> String {
    match node.text() {
        Some(text) => text.to_owned(),
        None => node.json().to_string(),
    }
}

/// Splits at blanks and commas that stand in no brackets, as `Bash(git diff:*), Read` needs it.
pub(in crate::skill) fn split_tools(text: &str) -> (Vec<String>, bool) {
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
