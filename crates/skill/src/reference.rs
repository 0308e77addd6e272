//! The verdict of the published reference validator (`skills-ref` 0.1.1): the same rules in the
//! same order, with the same words, and so the same quirks. In place of a traceback, there is a
//! finding. `docs/skills.md` lists the remaining differences.

use super::{
    skill::SkillFinding,
    words::{is_alphanumeric, length, normal, strip},
};
use wf_base::source::{LineColumn, SourceText, Span};

mod prepare;

use prepare::PreparedFrontMatter;
use wf_base::yaml::{FenceError, FrontMatter, YamlNode, YamlValue};

/// The maximum length of a name, in characters.
pub const MAX_NAME: usize = 64;
/// The maximum length of a description, in characters.
pub const MAX_DESCRIPTION: usize = 1024;
/// The maximum length of a statement of compatibility, in characters.
pub const MAX_COMPATIBILITY: usize = 500;

/// The fields of the standard, sorted.
pub(super) const FIELDS: [&str; 6] =
    ["allowed-tools", "compatibility", "description", "license", "metadata", "name"];

/// The reason why there is no readable SKILL.md at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillTextError {
    /// The path does not exist.
    NoPath,
    /// It is not a folder.
    NoFolder,
    /// The folder has neither `SKILL.md` nor `skill.md`.
    NoFile,
    /// The file is not UTF-8.
    NotText,
    /// The file is a link, which is not followed.
    Link,
    /// The file is too large or not a regular file, or a system error occurred.
    Unreadable,
}

impl SkillTextError {
    /// Returns the finding of the reference validator; `shown` is the path as it was given.
    pub fn finding(self, shown: &str) -> SkillFinding {
        let (code, message) = match self {
            Self::NoPath => ("NOPATH", format!("Path does not exist: {shown}")),
            Self::NoFolder => ("NOTDIR", format!("Not a directory: {shown}")),
            Self::NoFile => ("NOFILE", "Missing required file: SKILL.md".into()),
            Self::NotText => ("ENCODING", "SKILL.md is not UTF-8 text".into()),
            Self::Link => ("UNREADABLE", "SKILL.md is a link, which is not followed".into()),
            Self::Unreadable => (
                "UNREADABLE",
                "SKILL.md cannot be read: it is larger than 1 MiB, is not a file, or is not readable for you"
                    .into(),
            ),
        };
        SkillFinding::new(code, Span::default(), message)
    }
}

/// Returns the findings of the reference validator in a SKILL.md; none if it is valid. `folder` is
/// the name of its folder. Spans are in the text with its line ends as `\n`.
pub fn reference(text: &str, folder: &str) -> Vec<SkillFinding> {
    match read_root(text) {
        Ok(root) => fields(&root, folder),
        Err(finding) => vec![finding],
    }
}

/// Reads the front matter as the reference validator does.
pub(super) fn read_root(text: &str) -> Result<YamlNode<'static>, SkillFinding> {
    let text = prepare::lines(text);
    let parts = by_words(&text).map_err(unfenced)?;
    let yaml = text.get(parts.yaml.range()).unwrap_or("");
    let broken = |yaml: &str, at: Span, reason: &str| {
        // Spans refer to the whole text, which begins before the text that is read.
        let before = text.get(..parts.yaml.start as usize).unwrap_or("");
        broken(&format!("{before}{yaml}"), parts.yaml.subspan(at.range()), reason)
    };
    let prepared = prepare::prepare(yaml);
    let PreparedFrontMatter { text: mut own, mark } =
        prepared.map_err(|at| broken(yaml, Span::new(at, at), "a control character"))?;
    let document = prepare::read_prepared(&mut own);
    let document = document.map_err(|error| broken(&own, error.span, &error.message))?;
    if let Some((at, reason)) = prepare::refused(&document, &own) {
        return Err(broken(&own, at, &reason));
    }
    let Some(mut root) = document.root.filter(|root| root.entries().is_some()) else {
        let message = "SKILL.md frontmatter must be a YAML mapping";
        return Err(SkillFinding::new("NOTMAP", parts.yaml, message));
    };
    prepare::retype(&mut root);
    if let Some(mark) = mark {
        prepare::restore(&mut root, mark);
    }
    Ok(root)
}

/// Splits at the first two occurrences of `---`, as the reference validator does.
fn by_words(text: &str) -> Result<FrontMatter, FenceError> {
    let rest = text.strip_prefix("---").ok_or(FenceError::Start)?;
    let end = rest.find("---").ok_or(FenceError::Close)? + 3;
    Ok(FrontMatter { yaml: Span::new(3, end), body: Span::new(end + 3, text.len()) })
}

/// Returns the span of the Markdown for the reference validator.
pub(super) fn body(text: &str) -> Span {
    by_words(text).map_or(Span::default(), |parts| parts.body)
}

fn unfenced(error: FenceError) -> SkillFinding {
    let (code, message) = match error {
        FenceError::Start => ("START", "SKILL.md must start with YAML frontmatter (---)"),
        FenceError::Close => ("CLOSE", "SKILL.md frontmatter not properly closed with ---"),
    };
    SkillFinding::new(code, Span::default(), message)
}

fn broken(text: &str, span: Span, reason: &str) -> SkillFinding {
    let LineColumn { line, column } = SourceText::new("SKILL.md", text).line_column(span.start);
    let message = format!("Invalid YAML in frontmatter: {reason} at line {line}, column {column}");
    SkillFinding::new("YAML", span, message)
}

fn fields(root: &YamlNode<'_>, folder: &str) -> Vec<SkillFinding> {
    let mut findings = Vec::new();
    let mut extra: Vec<&str> = root.entries().unwrap_or(&[]).iter().map(|entry| &*entry.key).collect();
    extra.retain(|key| !FIELDS.contains(key));
    extra.sort_unstable();
    if !extra.is_empty() {
        let field_names: Vec<String> = FIELDS.iter().map(|field| format!("'{field}'")).collect();
        let message = format!(
            "Unexpected fields in frontmatter: {}. Only [{}] are allowed.",
            extra.join(", "),
            field_names.join(", ")
        );
        findings.push(SkillFinding::new("FIELDS", root.span, message));
    }
    match require(root, "NAME-MISSING", "name") {
        Ok(node) => findings.extend(name(node, folder)),
        Err(finding) => findings.push(finding),
    }
    match require(root, "DESC-MISSING", "description") {
        Ok(node) => findings.extend(description(node)),
        Err(finding) => findings.push(finding),
    }
    let compatibility = root.get("compatibility");
    findings.extend(compatibility.and_then(|entry| self::compatibility(&entry.value)));
    findings
}

/// Returns a field that must be there.
pub(super) fn require<'n, 'a>(
    root: &'n YamlNode<'a>,
    code: &'static str,
    field: &str,
) -> Result<&'n YamlNode<'a>, SkillFinding> {
    root.get(field).map(|entry| &entry.value).ok_or_else(|| {
        SkillFinding::new(code, root.span, format!("Missing required field in frontmatter: {field}"))
    })
}

/// Returns the text of a field that must not be blank, without blanks around it.
pub(super) fn require_text<'n>(
    node: &'n YamlNode<'_>,
    code: &'static str,
    field: &str,
) -> Result<&'n str, SkillFinding> {
    node.text().map(strip).filter(|text| !text.is_empty()).ok_or_else(|| {
        SkillFinding::new(code, node.span, format!("Field '{field}' must be a non-empty string"))
    })
}

fn name(node: &YamlNode<'_>, folder: &str) -> Vec<SkillFinding> {
    match require_text(node, "NAME-EMPTY", "name") {
        Ok(text) => name_rules(&normal(text), folder, node.span),
        Err(finding) => vec![finding],
    }
}

/// Returns the mistakes in a name that is stripped and normalized.
pub(super) fn name_rules(name: &str, folder: &str, span: Span) -> Vec<SkillFinding> {
    let mut findings = Vec::new();
    let mut rule = |is_broken: bool, code, message: String| {
        if is_broken {
            findings.push(SkillFinding::new(code, span, message));
        }
    };
    let count = length(name);
    rule(
        count > MAX_NAME,
        "NAME-LEN",
        format!("Skill name '{name}' exceeds {MAX_NAME} character limit ({count} chars)"),
    );
    rule(name.to_lowercase() != name, "NAME-CASE", format!("Skill name '{name}' must be lowercase"));
    rule(
        name.starts_with('-') || name.ends_with('-'),
        "NAME-HYPHEN",
        "Skill name cannot start or end with a hyphen".into(),
    );
    rule(name.contains("--"), "NAME-DHYPHEN", "Skill name cannot contain consecutive hyphens".into());
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
    findings
}

fn description(node: &YamlNode<'_>) -> Option<SkillFinding> {
    if let Err(finding) = require_text(node, "DESC-EMPTY", "description") {
        return Some(finding);
    }
    let count = length(node.text().unwrap_or_default());
    let message = format!("Description exceeds {MAX_DESCRIPTION} character limit ({count} chars)");
    (count > MAX_DESCRIPTION).then(|| SkillFinding::new("DESC-LEN", node.span, message))
}

fn compatibility(node: &YamlNode<'_>) -> Option<SkillFinding> {
    let YamlValue::Text(text) = &node.value else {
        let message = "Field 'compatibility' must be a string";
        return Some(SkillFinding::new("COMPAT-TYPE", node.span, message));
    };
    let count = length(text);
    let message = format!("Compatibility exceeds {MAX_COMPATIBILITY} character limit ({count} chars)");
    (count > MAX_COMPATIBILITY).then(|| SkillFinding::new("COMPAT-LEN", node.span, message))
}

#[cfg(test)]
mod tests {
    use super::by_words;
    use wf_base::yaml::FenceError;

    fn check(text: &str, expected: Result<(&str, &str), FenceError>) {
        let slice = |span: wf_base::source::Span| text.get(span.range()).unwrap();
        let found = by_words(text).map(|parts| (slice(parts.yaml), slice(parts.body)));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_are_fences() {
        check("--- c\na: b --- d", Ok((" c\na: b ", " d")));
        check("------", Ok(("", "")));
        check("-----", Err(FenceError::Close));
        check("\u{feff}---\n---", Err(FenceError::Start));
    }
}
