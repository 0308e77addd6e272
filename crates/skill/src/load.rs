//! Lenient reading of a skill: as much of it as can be understood, as good clients do. A mistake
//! that does not prevent its use is a warning.

mod fields;
mod quote;

pub(super) use fields::{is_null, split_tools};

use super::{
    reference,
    skill::{Skill, SkillFinding},
    yaml::{self, SkillYamlDocument},
};
use wf_base::{
    source::{SourceText, Span},
    yaml::{FenceError, FrontMatter, YamlError, YamlNode, YamlOddity, YamlOddityKind},
};

/// The maximum size of a SKILL.md, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Reads SKILL.md as a good client does. `folder` is the folder's own name. An error is the reason
/// why wf does not load it: its description is missing, or its front matter cannot be read even
/// after quoting the value that breaks it.
///
/// Every text of at most [`MAX_TEXT`] bytes the reference validator finds valid is loaded.
pub fn load(text: &str, folder: &str) -> Result<Skill, Vec<SkillFinding>> {
    if text.len() > MAX_TEXT {
        let message = format!("SKILL.md is larger than {} MiB", MAX_TEXT >> 20);
        let finding = SkillFinding::new("SIZE", Span::default(), message);
        return Err(vec![finding.help("move what is not always needed to references/")]);
    }
    let mut warnings = Vec::new();
    if text.starts_with('\u{feff}') {
        let message = "a byte-order mark precedes the front matter";
        warnings.push(SkillFinding::new("START", Span::new(0, 3), message).help("remove it"));
    }
    let read = front_matter(text, &mut warnings);
    let loaded = match read {
        Ok(read) => fields::skill(&read, folder, warnings),
        Err(finding) => Err(vec![finding]),
    };
    loaded.or_else(|broken| by_reference(text, folder).ok_or(broken))
}

/// Loads a text that only the reference validator accepts, as it reads it.
fn by_reference(text: &str, folder: &str) -> Option<Skill> {
    if !reference::reference(text, folder).is_empty() {
        return None;
    }
    let read = as_reference(text)?;
    let message = "the front matter is only readable as the reference validator reads it: from the \
                   first `---` to the second, wherever they are";
    let warning = SkillFinding::new("FENCE", Span::new(0, text.floor_char_boundary(3)), message);
    let warnings = vec![warning.help("put each `---` on its own line")];
    fields::skill(&read, folder, warnings).ok()
}

/// Reads the front matter as the reference validator does, without locations.
pub(super) fn as_reference(text: &str) -> Option<SkillFrontMatter<'_>> {
    Some(SkillFrontMatter {
        text,
        root: reference::read_root(text).ok()?,
        body: reference::body(text),
        has_places: false,
    })
}

/// The front matter, and the span of the body.
pub(super) struct SkillFrontMatter<'a> {
    pub text: &'a str,
    pub root: YamlNode<'static>,
    pub body: Span,
    /// True if the spans in `root` are spans of the text.
    pub has_places: bool,
}

/// Reads the front matter; oddities are warnings.
pub(super) fn front_matter<'a>(
    text: &'a str,
    warnings: &mut Vec<SkillFinding>,
) -> Result<SkillFrontMatter<'a>, SkillFinding> {
    let parts = FrontMatter::split(text).map_err(|reason| unfenced(reason, text))?;
    Ok(SkillFrontMatter { text, root: tree(text, parts, warnings)?, body: parts.body, has_places: true })
}

/// Returns the root of a front matter; oddities are warnings.
fn tree(
    text: &str,
    front_matter: FrontMatter,
    warnings: &mut Vec<SkillFinding>,
) -> Result<YamlNode<'static>, SkillFinding> {
    let (document, quoted) = match yaml::read_document(text, front_matter.yaml) {
        Ok(document) => (document, Vec::new()),
        Err(broken) => {
            quote::read_quoted(text, front_matter.yaml).ok_or_else(|| unreadable(text, &broken))?
        }
    };
    for at in quoted {
        let message = "this value is only readable if it is treated as quoted";
        warnings.push(SkillFinding::new("YAML", at, message).help("quote it, or put it under a `|`"));
    }
    let SkillYamlDocument { root, odd } = document;
    warnings.extend(odd.iter().map(oddity));
    root.filter(|root| root.entries().is_some()).ok_or_else(|| {
        let message = "the front matter is not a mapping";
        SkillFinding::new("NOTMAP", front_matter.yaml, message).help("add `name:` and `description:`")
    })
}

fn oddity(odd: &YamlOddity) -> SkillFinding {
    let says = odd.kind.description();
    let (code, help) = match odd.kind {
        YamlOddityKind::Flow => {
            ("FLOW", "write one entry per line: the reference validator rejects brackets")
        }
        YamlOddityKind::Duplicate(..) => ("DUPLICATE", "remove one: the last one counts here"),
        YamlOddityKind::Alias => ("ALIAS", "write out the value: aliases are not supported"),
        YamlOddityKind::Merge(_) => ("ALIAS", "write out the values: merge keys are not supported"),
        YamlOddityKind::Anchor
        | YamlOddityKind::Tag
        | YamlOddityKind::Key
        | YamlOddityKind::ScalarKey
        | YamlOddityKind::Template => ("STRICT", "other readers reject it"),
        YamlOddityKind::Column => ("STRICT", "indent both alike: other readers reject it"),
        YamlOddityKind::Tab => ("STRICT", "use spaces: other readers reject it"),
    };
    SkillFinding::new(code, odd.span, says).help(help)
}

fn unfenced(error: FenceError, text: &str) -> SkillFinding {
    let end = text.find('\n').unwrap_or(text.len()).min(80);
    let span = Span::new(0, text.floor_char_boundary(end));
    match error {
        FenceError::Start => {
            let message = "SKILL.md does not start with a `---` line";
            let help = "start with `---`, then the YAML, then `---`, then the Markdown";
            SkillFinding::new("START", span, message).help(help)
        }
        FenceError::Close => {
            let message = "the front matter that starts here has no closing `---` line";
            SkillFinding::new("CLOSE", span, message).help("close it with a `---` line")
        }
    }
}

pub(super) fn unreadable(text: &str, error: &YamlError) -> SkillFinding {
    let place = SourceText::new("", text).line_column(error.span.start);
    let message = format!("the front matter is not valid YAML: {} at {place}", error.message);
    let help = "quote text with special characters, or put it under a `|`";
    SkillFinding::new("YAML", error.span, message).help(help)
}
