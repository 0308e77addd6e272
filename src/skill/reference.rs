//! The verdict of the published reference validator (`skills-ref` 0.1.1): the same rules in the
//! same order, with the same words, and so the same quirks. Where it would end in a traceback,
//! there is a finding. `docs/skills.md` lists what still differs.

use super::fences::{Unfenced, by_words};
use super::skill::Finding;
use super::words::{is_alphanumeric, length, normal, strip};
use super::yaml::{Node, Value};
use crate::source::{LineColumn, Source, Span};

mod prepare;

use prepare::Prepared;

/// The longest name, in characters.
pub const MAX_NAME: usize = 64;
/// The longest description, in characters.
pub const MAX_DESCRIPTION: usize = 1024;
/// The longest statement of compatibility, in characters.
pub const MAX_COMPATIBILITY: usize = 500;

/// The fields of the standard, sorted.
pub(super) const FIELDS: [&str; 6] = [
    "allowed-tools",
    "compatibility",
    "description",
    "license",
    "metadata",
    "name",
];

/// What a path is that holds no SKILL.md that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoText {
    /// There is nothing.
    NoPath,
    /// It is no folder.
    NoFolder,
    /// The folder has neither `SKILL.md` nor `skill.md`.
    NoFile,
    /// The file is not UTF-8.
    NotText,
}

impl NoText {
    /// What the reference validator says; `shown` is the path as it was given.
    pub fn finding(self, shown: &str) -> Finding {
        let (code, message) = match self {
            Self::NoPath => ("NOPATH", format!("Path does not exist: {shown}")),
            Self::NoFolder => ("NOTDIR", format!("Not a directory: {shown}")),
            Self::NoFile => ("NOFILE", "Missing required file: SKILL.md".into()),
            Self::NotText => ("ENCODING", "SKILL.md is not UTF-8 text".into()),
        };
        Finding::new(code, Span::default(), message)
    }
}

/// What the reference validator says about a SKILL.md; nothing if it is valid. `folder` is the
/// name of its folder. Places are in the text with its line ends as `\n`.
pub fn reference(text: &str, folder: &str) -> Vec<Finding> {
    match read(text) {
        Ok(root) => fields(&root, folder),
        Err(finding) => vec![finding],
    }
}

/// The front matter as the reference validator reads it.
pub(super) fn read(text: &str) -> Result<Node, Finding> {
    let text = prepare::lines(text);
    let parts = by_words(&text).map_err(unfenced)?;
    let yaml = text.get(parts.yaml.range()).unwrap_or("");
    let broken = |yaml: &str, at: Span, why: &str| {
        // Places are shown in the text before what is read, which has its lines.
        let before = text.get(..parts.yaml.start as usize).unwrap_or("");
        broken(&format!("{before}{yaml}"), parts.yaml.part(at.range()), why)
    };
    let prepared = prepare::prepare(yaml);
    let Prepared {
        text: mut own,
        mark,
    } = prepared.map_err(|at| broken(yaml, Span::new(at, at), "a control character"))?;
    let document = prepare::read(&mut own);
    let document = document.map_err(|error| broken(&own, error.span, &error.message))?;
    if let Some((at, why)) = prepare::refused(&document, &own) {
        return Err(broken(&own, at, &why));
    }
    let Some(mut root) = document.root.filter(|root| root.entries().is_some()) else {
        let message = "SKILL.md frontmatter must be a YAML mapping";
        return Err(Finding::new("NOTMAP", parts.yaml, message));
    };
    prepare::retype(&mut root);
    if let Some(mark) = mark {
        prepare::restore(&mut root, mark);
    }
    Ok(root)
}

/// Where the Markdown stands for the reference validator.
pub(super) fn body(text: &str) -> Span {
    by_words(text).map_or(Span::default(), |parts| parts.body)
}

fn unfenced(why: Unfenced) -> Finding {
    let (code, message) = match why {
        Unfenced::Start => ("START", "SKILL.md must start with YAML frontmatter (---)"),
        Unfenced::Close => ("CLOSE", "SKILL.md frontmatter not properly closed with ---"),
    };
    Finding::new(code, Span::default(), message)
}

fn broken(text: &str, span: Span, why: &str) -> Finding {
    let LineColumn { line, column } = Source::new("SKILL.md", text).place(span.start);
    let message = format!("Invalid YAML in frontmatter: {why} at line {line}, column {column}");
    Finding::new("YAML", span, message)
}

fn fields(root: &Node, folder: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut extra: Vec<&str> = root
        .entries()
        .unwrap_or(&[])
        .iter()
        .map(|e| e.key.as_str())
        .collect();
    extra.retain(|key| !FIELDS.contains(key));
    extra.sort_unstable();
    if !extra.is_empty() {
        let known: Vec<String> = FIELDS.iter().map(|field| format!("'{field}'")).collect();
        let message = format!(
            "Unexpected fields in frontmatter: {}. Only [{}] are allowed.",
            extra.join(", "),
            known.join(", ")
        );
        found.push(Finding::new("FIELDS", root.span, message));
    }
    match root.get("name") {
        None => found.push(missing("NAME-MISSING", "name", root.span)),
        Some(entry) => found.extend(name(&entry.value, folder)),
    }
    match root.get("description") {
        None => found.push(missing("DESC-MISSING", "description", root.span)),
        Some(entry) => found.extend(description(&entry.value)),
    }
    let compatibility = root.get("compatibility");
    found.extend(compatibility.and_then(|entry| self::compatibility(&entry.value)));
    found
}

fn missing(code: &'static str, field: &str, span: Span) -> Finding {
    let message = format!("Missing required field in frontmatter: {field}");
    Finding::new(code, span, message)
}

/// The text of a value that is not blank.
fn filled(node: &Node) -> Option<&str> {
    node.text().filter(|text| !strip(text).is_empty())
}

fn name(node: &Node, folder: &str) -> Vec<Finding> {
    match filled(node) {
        None => {
            let message = "Field 'name' must be a non-empty string";
            vec![Finding::new("NAME-EMPTY", node.span, message)]
        }
        Some(text) => name_rules(&normal(strip(text)), folder, node.span),
    }
}

/// What is wrong with a name that is stripped and normal.
pub(super) fn name_rules(name: &str, folder: &str, span: Span) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut rule = |is_broken: bool, code, message: String| {
        if is_broken {
            found.push(Finding::new(code, span, message));
        }
    };
    let count = length(name);
    rule(
        count > MAX_NAME,
        "NAME-LEN",
        format!("Skill name '{name}' exceeds {MAX_NAME} character limit ({count} chars)"),
    );
    rule(
        name.to_lowercase() != name,
        "NAME-CASE",
        format!("Skill name '{name}' must be lowercase"),
    );
    rule(
        name.starts_with('-') || name.ends_with('-'),
        "NAME-HYPHEN",
        "Skill name cannot start or end with a hyphen".into(),
    );
    rule(
        name.contains("--"),
        "NAME-DHYPHEN",
        "Skill name cannot contain consecutive hyphens".into(),
    );
    rule(
        !name.chars().all(|c| c == '-' || is_alphanumeric(c)),
        "NAME-CHARS",
        format!(
            "Skill name '{name}' contains invalid characters. \
             Only letters, digits, and hyphens are allowed."
        ),
    );
    rule(
        normal(folder) != name,
        "NAME-DIR",
        format!("Directory name '{folder}' must match skill name '{name}'"),
    );
    found
}

fn description(node: &Node) -> Option<Finding> {
    let Some(text) = filled(node) else {
        let message = "Field 'description' must be a non-empty string";
        return Some(Finding::new("DESC-EMPTY", node.span, message));
    };
    let count = length(text);
    let message = format!("Description exceeds {MAX_DESCRIPTION} character limit ({count} chars)");
    (count > MAX_DESCRIPTION).then(|| Finding::new("DESC-LEN", node.span, message))
}

fn compatibility(node: &Node) -> Option<Finding> {
    let Value::Text(text) = &node.value else {
        let message = "Field 'compatibility' must be a string";
        return Some(Finding::new("COMPAT-TYPE", node.span, message));
    };
    let count = length(text);
    let message =
        format!("Compatibility exceeds {MAX_COMPATIBILITY} character limit ({count} chars)");
    (count > MAX_COMPATIBILITY).then(|| Finding::new("COMPAT-LEN", node.span, message))
}
