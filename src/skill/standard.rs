//! What the specification says, where it says it. `docs/skills.md` has the table of what it leaves
//! open or says twice, and what is decided here.

use super::fences::{Unfenced, by_lines};
use super::load::{split_tools, unreadable};
use super::reference::{MAX_COMPATIBILITY, MAX_DESCRIPTION, name_rules};
use super::skill::Finding;
use super::words::{length, strip};
use super::yaml::{self, Node, OddKind, Value};
use crate::source::Span;

/// What is wrong with a SKILL.md by the specification; nothing if it is as it says. `file` is the
/// name of the file, and `folder` that of its folder.
pub fn standard(text: &str, file: &str, folder: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if file != "SKILL.md" {
        let message = format!("the file is called `{file}`, and must be called `SKILL.md`");
        found.push(Finding::new("FILE-CASE", Span::default(), message));
    }
    match root(text) {
        Ok(root) => fields(&root, folder, &mut found),
        Err(finding) => found.push(finding),
    }
    found
}

/// The front matter by YAML 1.2, between lines that are `---`.
fn root(text: &str) -> Result<Node, Finding> {
    let bare = |code, message: &str| Finding::new(code, Span::default(), message);
    if text.starts_with('\u{feff}') {
        return Err(bare(
            "START",
            "SKILL.md begins with a byte-order mark, not with `---`",
        ));
    }
    let parts = by_lines(text).map_err(|why| match why {
        Unfenced::Start => bare("START", "SKILL.md does not begin with a `---` line"),
        Unfenced::Close => bare("CLOSE", "the front matter has no closing `---` line"),
    })?;
    let document = yaml::read(text, parts.yaml).map_err(|broken| unreadable(text, &broken))?;
    // A key twice is no YAML; what an alias stands for is not looked up.
    let bad = |kind: &OddKind| {
        matches!(
            kind,
            OddKind::Duplicate(_) | OddKind::Alias | OddKind::Merge(_) | OddKind::Key
        )
    };
    if let Some(odd) = document.odd.iter().find(|odd| bad(&odd.kind)) {
        return Err(Finding::new(
            "YAML",
            odd.span,
            format!("{} cannot be read", odd.kind.says()),
        ));
    }
    let root = document.root.filter(|root| root.entries().is_some());
    root.ok_or_else(|| Finding::new("NOTMAP", parts.yaml, "the front matter is no mapping"))
}

fn fields(root: &Node, folder: &str, found: &mut Vec<Finding>) {
    let get = |key: &str| root.get(key).map(|entry| &entry.value);
    match get("name") {
        None => found.push(Finding::new(
            "NAME-MISSING",
            root.span,
            "there is no `name`",
        )),
        Some(node) => found.extend(name(node, folder)),
    }
    match get("description") {
        None => found.push(Finding::new(
            "DESC-MISSING",
            root.span,
            "there is no `description`",
        )),
        Some(node) => found.extend(description(node)),
    }
    found.extend(get("license").and_then(|node| no_text(node, "LICENSE-TYPE", "license")));
    found.extend(get("compatibility").and_then(compatibility));
    found.extend(get("metadata").into_iter().flat_map(metadata));
    found.extend(get("allowed-tools").and_then(tools));
}

fn name(node: &Node, folder: &str) -> Vec<Finding> {
    let Some(name) = node.text().filter(|text| !text.is_empty()) else {
        let message = "the `name` is empty, or is no text";
        return vec![Finding::new("NAME-EMPTY", node.span, message)];
    };
    // Of the reference's rules, those that are the standard's; the characters are its own.
    let mut found = name_rules(name, folder, node.span);
    let ascii = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    found.retain(|rule| matches!(rule.code, "NAME-LEN" | "NAME-HYPHEN" | "NAME-DHYPHEN"));
    if !name.chars().all(ascii) {
        let message = format!("the name `{name}` has other characters than a-z, 0-9 and hyphens");
        found.push(Finding::new("NAME-CHARS", node.span, message));
    }
    if name != folder {
        let message = format!("the name `{name}` is not that of the folder, `{folder}`");
        found.push(Finding::new("NAME-DIR", node.span, message));
    }
    found
}

fn description(node: &Node) -> Option<Finding> {
    let Some(text) = node.text().filter(|text| !strip(text).is_empty()) else {
        let message = "the `description` is blank, or is no text";
        return Some(Finding::new("DESC-EMPTY", node.span, message));
    };
    too_long(text, MAX_DESCRIPTION)
        .map(|why| Finding::new("DESC-LEN", node.span, format!("the `description` {why}")))
}

fn compatibility(node: &Node) -> Option<Finding> {
    let Value::Text(text) = &node.value else {
        return no_text(node, "COMPAT-TYPE", "compatibility");
    };
    if text.is_empty() {
        let message = "`compatibility` is given and empty";
        return Some(Finding::new("COMPAT-EMPTY", node.span, message));
    }
    too_long(text, MAX_COMPATIBILITY)
        .map(|why| Finding::new("COMPAT-LEN", node.span, format!("`compatibility` {why}")))
}

fn too_long(text: &str, most: usize) -> Option<String> {
    let count = length(text);
    (count > most).then(|| format!("has {count} characters, more than {most}"))
}

fn metadata(node: &Node) -> Vec<Finding> {
    let Some(entries) = node.entries() else {
        return vec![Finding::new(
            "META-TYPE",
            node.span,
            "`metadata` is no mapping",
        )];
    };
    let nested = entries.iter().filter(|entry| entry.value.text().is_none());
    let finding = |entry: &yaml::Entry| {
        let message = format!("`metadata.{}` is no text", entry.key);
        Finding::new("META-TYPE", entry.at, message)
    };
    nested.map(finding).collect()
}

fn tools(node: &Node) -> Option<Finding> {
    let has_commas = node.text().is_some_and(|text| split_tools(text).1);
    let message = "`allowed-tools` are separated by blanks, not by commas";
    let comma = has_commas.then(|| Finding::new("TOOLS-COMMA", node.span, message));
    no_text(node, "TOOLS-TYPE", "allowed-tools").or(comma)
}

fn no_text(node: &Node, code: &'static str, key: &str) -> Option<Finding> {
    let finding = Finding::new(code, node.span, format!("`{key}` is no text"));
    node.text().is_none().then_some(finding)
}
