//! The rules of the specification, as it states them. `docs/skills.md` lists its gaps and
//! contradictions, and the decisions made here.

use super::{
    load::{split_tools, unreadable},
    reference::{MAX_COMPATIBILITY, MAX_DESCRIPTION, name_rules},
    skill::SkillFinding,
    words::{length, strip},
    yaml,
};
use wf_base::{
    source::Span,
    yaml::{FenceError, FrontMatter, YamlEntry, YamlNode, YamlOddityKind, YamlValue},
};

/// Returns the violations of the specification in a SKILL.md; none if it is valid. `file` is the
/// name of the file, and `folder` that of its folder.
pub fn standard(text: &str, file: &str, folder: &str) -> Vec<SkillFinding> {
    let mut findings = Vec::new();
    if file != "SKILL.md" {
        let message = format!("the file is named `{file}`, but must be named `SKILL.md`");
        findings.push(SkillFinding::new("FILE-CASE", Span::default(), message));
    }
    match root(text) {
        Ok(root) => fields(&root, folder, &mut findings),
        Err(finding) => findings.push(finding),
    }
    findings
}

/// Reads the front matter by YAML 1.2, between lines that are `---`.
fn root(text: &str) -> Result<YamlNode<'static>, SkillFinding> {
    let bare = |code, message: &str| SkillFinding::new(code, Span::default(), message);
    if text.starts_with('\u{feff}') {
        return Err(bare("START", "SKILL.md starts with a byte-order mark, not with `---`"));
    }
    let parts = FrontMatter::split(text).map_err(|reason| match reason {
        FenceError::Start => bare("START", "SKILL.md does not start with a `---` line"),
        FenceError::Close => bare("CLOSE", "the front matter has no closing `---` line"),
    })?;
    let document = yaml::read_document(text, parts.yaml).map_err(|broken| unreadable(text, &broken))?;
    // A duplicate key is not YAML; aliases are not resolved.
    let bad = |kind: &YamlOddityKind| {
        matches!(
            kind,
            YamlOddityKind::Duplicate(..)
                | YamlOddityKind::Alias
                | YamlOddityKind::Merge(_)
                | YamlOddityKind::Key
                | YamlOddityKind::ScalarKey
                | YamlOddityKind::Template
        )
    };
    if let Some(odd) = document.odd.iter().find(|odd| bad(&odd.kind)) {
        return Err(SkillFinding::new("YAML", odd.span, format!("cannot read {}", odd.kind.description())));
    }
    let root = document.root.filter(|root| root.entries().is_some());
    root.ok_or_else(|| SkillFinding::new("NOTMAP", parts.yaml, "the front matter is not a mapping"))
}

fn fields(root: &YamlNode<'_>, folder: &str, findings: &mut Vec<SkillFinding>) {
    let get = |key: &str| root.get(key).map(|entry| &entry.value);
    match get("name") {
        None => findings.push(SkillFinding::new("NAME-MISSING", root.span, "missing `name`")),
        Some(node) => findings.extend(name(node, folder)),
    }
    match get("description") {
        None => findings.push(SkillFinding::new("DESC-MISSING", root.span, "missing `description`")),
        Some(node) => findings.extend(description(node)),
    }
    findings.extend(get("license").and_then(|node| no_text(node, "LICENSE-TYPE", "license")));
    findings.extend(get("compatibility").and_then(compatibility));
    findings.extend(get("metadata").into_iter().flat_map(metadata));
    findings.extend(get("allowed-tools").and_then(tools));
}

fn name(node: &YamlNode<'_>, folder: &str) -> Vec<SkillFinding> {
    let Some(name) = node.text().filter(|text| !text.is_empty()) else {
        let message = "the `name` is empty, or not a string";
        return vec![SkillFinding::new("NAME-EMPTY", node.span, message)];
    };
    // The reference's rules that are also in the standard; the characters are its own.
    let mut findings = name_rules(name, folder, node.span);
    let ascii = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    findings.retain(|rule| matches!(rule.code, "NAME-LEN" | "NAME-HYPHEN" | "NAME-DHYPHEN"));
    if !name.chars().all(ascii) {
        let message = format!("the name `{name}` has characters other than a-z, 0-9 and hyphens");
        findings.push(SkillFinding::new("NAME-CHARS", node.span, message));
    }
    if name != folder {
        let message = format!("the name `{name}` does not match the folder, `{folder}`");
        findings.push(SkillFinding::new("NAME-DIR", node.span, message));
    }
    findings
}

fn description(node: &YamlNode<'_>) -> Option<SkillFinding> {
    let Some(text) = node.text().filter(|text| !strip(text).is_empty()) else {
        let message = "the `description` is blank, or not a string";
        return Some(SkillFinding::new("DESC-EMPTY", node.span, message));
    };
    too_long(text, MAX_DESCRIPTION)
        .map(|reason| SkillFinding::new("DESC-LEN", node.span, format!("the `description` {reason}")))
}

fn compatibility(node: &YamlNode<'_>) -> Option<SkillFinding> {
    let YamlValue::Text(text) = &node.value else {
        return no_text(node, "COMPAT-TYPE", "compatibility");
    };
    if text.is_empty() {
        let message = "`compatibility` is empty";
        return Some(SkillFinding::new("COMPAT-EMPTY", node.span, message));
    }
    too_long(text, MAX_COMPATIBILITY)
        .map(|reason| SkillFinding::new("COMPAT-LEN", node.span, format!("`compatibility` {reason}")))
}

fn too_long(text: &str, most: usize) -> Option<String> {
    let count = length(text);
    (count > most).then(|| format!("has {count} characters; at most {most} are allowed"))
}

fn metadata(node: &YamlNode<'_>) -> Vec<SkillFinding> {
    let Some(entries) = node.entries() else {
        return vec![SkillFinding::new("META-TYPE", node.span, "`metadata` is not a mapping")];
    };
    let nested = entries.iter().filter(|entry| entry.value.text().is_none());
    let finding = |entry: &YamlEntry<'_>| {
        let message = format!("`metadata.{}` is not a string", entry.key);
        SkillFinding::new("META-TYPE", entry.at, message)
    };
    nested.map(finding).collect()
}

fn tools(node: &YamlNode<'_>) -> Option<SkillFinding> {
    let has_commas = node.text().is_some_and(|text| split_tools(text).1);
    let message = "`allowed-tools` must be separated by spaces, not by commas";
    let comma = has_commas.then(|| SkillFinding::new("TOOLS-COMMA", node.span, message));
    no_text(node, "TOOLS-TYPE", "allowed-tools").or(comma)
}

fn no_text(node: &YamlNode<'_>, code: &'static str, key: &str) -> Option<SkillFinding> {
    let finding = SkillFinding::new(code, node.span, format!("`{key}` is not a string"));
    node.text().is_none().then_some(finding)
}
