//! How wf reads a skill: as much of it as can be understood, as good clients do. What keeps
//! nobody from using it is a warning.

mod fields;
mod quote;

pub(super) use fields::{is_nothing, split_tools};

use super::fences::{Parts, Unfenced, by_lines};
use super::reference;
use super::skill::{Finding, Skill};
use super::yaml::{self, Broken, Document, Node, Odd, OddKind};
use crate::source::{Source, Span};

/// The largest SKILL.md that is read, in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// Reads SKILL.md as a good client does. `folder` is the folder's own name. An error says why wf
/// does not load it: its description is missing, or its front matter cannot be read even after
/// quoting the value that breaks it.
///
/// Every text of at most [`MAX_TEXT`] bytes that the reference validator finds valid is loaded.
pub fn load(text: &str, folder: &str) -> Result<Skill, Vec<Finding>> {
    if text.len() > MAX_TEXT {
        let message = format!("SKILL.md is larger than {} MiB", MAX_TEXT >> 20);
        let finding = Finding::new("SIZE", Span::default(), message);
        return Err(vec![
            finding.help("move what is not always needed to references/"),
        ]);
    }
    let mut warnings = Vec::new();
    if text.starts_with('\u{feff}') {
        let message = "a byte-order mark stands before the front matter";
        warnings.push(Finding::new("START", Span::new(0, 3), message).help("take it out"));
    }
    let read = front_matter(text, &mut warnings);
    let loaded = match read {
        Ok(read) => fields::skill(&read, folder, warnings),
        Err(finding) => Err(vec![finding]),
    };
    loaded.or_else(|broken| by_reference(text, folder).ok_or(broken))
}

/// What the reference validator accepts for reasons of its own is loaded as it reads it.
fn by_reference(text: &str, folder: &str) -> Option<Skill> {
    if !reference::reference(text, folder).is_empty() {
        return None;
    }
    let read = as_reference(text)?;
    let message = "the front matter can be read only as the reference validator reads it: from the \
                   first `---` to the second, wherever they stand";
    let warning = Finding::new("FENCE", Span::new(0, text.floor_char_boundary(3)), message);
    let warnings = vec![warning.help("put each `---` on its own line")];
    fields::skill(&read, folder, warnings).ok()
}

/// Reads the front matter as the reference validator does, without places.
pub(super) fn as_reference(text: &str) -> Option<Read<'_>> {
    Some(Read {
        text,
        root: reference::read(text).ok()?,
        body: reference::body(text),
        has_places: false,
    })
}

/// The front matter, and where the body is.
pub(super) struct Read<'a> {
    pub text: &'a str,
    pub root: Node,
    pub body: Span,
    /// Whether the places in `root` are places in the text.
    pub has_places: bool,
}

/// Reads the front matter; what is odd about it is a warning.
pub(super) fn front_matter<'a>(
    text: &'a str,
    warnings: &mut Vec<Finding>,
) -> Result<Read<'a>, Finding> {
    let parts = by_lines(text).map_err(|why| unfenced(why, text))?;
    Ok(Read {
        text,
        root: tree(text, parts, warnings)?,
        body: parts.body,
        has_places: true,
    })
}

/// The root of a front matter; what is odd in it is a warning.
fn tree(text: &str, parts: Parts, warnings: &mut Vec<Finding>) -> Result<Node, Finding> {
    let (document, quoted) = match yaml::read(text, parts.yaml) {
        Ok(document) => (document, Vec::new()),
        Err(broken) => quote::read(text, parts.yaml).ok_or_else(|| unreadable(text, &broken))?,
    };
    for at in quoted {
        let message = "this value can only be read as if it stood in quotes";
        warnings.push(Finding::new("YAML", at, message).help("put it in quotes, or below a `|`"));
    }
    let Document { root, odd } = document;
    warnings.extend(odd.iter().map(oddity));
    root.filter(|root| root.entries().is_some()).ok_or_else(|| {
        let message = "the front matter is no mapping";
        Finding::new("NOTMAP", parts.yaml, message).help("write `name:` and `description:` there")
    })
}

fn oddity(odd: &Odd) -> Finding {
    let says = odd.kind.says();
    let (code, help) = match odd.kind {
        OddKind::Flow => (
            "FLOW",
            "write one entry a line: the reference validator refuses brackets",
        ),
        OddKind::Duplicate(_) => ("DUPLICATE", "take one out: the last one counts here"),
        OddKind::Alias => ("ALIAS", "write the value out: an alias is not followed"),
        OddKind::Merge(_) => ("ALIAS", "write the values out: a merge key is not followed"),
        OddKind::Anchor | OddKind::Tag | OddKind::Key => ("STRICT", "other readers refuse it"),
        OddKind::Column => ("STRICT", "indent both alike: other readers refuse it"),
        OddKind::Tab => ("STRICT", "write a blank: other readers refuse it"),
    };
    Finding::new(code, odd.span, says).help(help)
}

fn unfenced(why: Unfenced, text: &str) -> Finding {
    let end = text.find('\n').unwrap_or(text.len()).min(80);
    let span = Span::new(0, text.floor_char_boundary(end));
    match why {
        Unfenced::Start => {
            let message = "SKILL.md does not begin with a `---` line";
            let help = "begin it with `---`, then the YAML, then `---`, then the Markdown";
            Finding::new("START", span, message).help(help)
        }
        Unfenced::Close => {
            let message = "the front matter that begins here has no closing `---` line";
            Finding::new("CLOSE", span, message).help("end it with a line that is `---`")
        }
    }
}

pub(super) fn unreadable(text: &str, broken: &Broken) -> Finding {
    let place = Source::new("", text).place(broken.span.start);
    let message = format!(
        "the front matter is not YAML: {} at {place}",
        broken.message
    );
    let help = "text with special characters in it stands in quotes, or below a `|`";
    Finding::new("YAML", broken.span, message).help(help)
}
