//! Prepares a text to be read like the reference validator's parser reads it.

use std::borrow::Cow;

use super::super::yaml::{self, SkillYamlDocument};
use wf_base::{
    source::Span,
    yaml::{YamlError, YamlNode, YamlNotation, YamlOddityKind, YamlValue},
};

/// The maximum number of blanks inserted for our parser only.
const MOST_BLANKS: usize = 32;

/// A front matter that our parser reads like the other parser reads the original.
pub(crate) struct PreparedFrontMatter {
    pub(crate) text: String,
    /// The character replacing U+FEFF, if it occurs.
    pub(crate) mark: Option<char>,
}

/// Converts every line end to `\n`.
pub(crate) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Replaces text the parsers read differently: three line ends of YAML 1.1, as the other
/// parser goes on counting columns, so it treats them as blanks almost everywhere; and
/// byte-order marks within the text, except one at its start. An error is the offset of a
/// character YAML does not allow.
pub(crate) fn prepare(yaml: &str) -> Result<PreparedFrontMatter, usize> {
    if let Some((at, _)) = yaml.char_indices().find(|(_, c)| !is_printable(*c)) {
        return Err(at);
    }
    let yaml = yaml.strip_prefix('\u{feff}').unwrap_or(yaml);
    let mut text = yaml.replace(['\u{85}', '\u{2028}', '\u{2029}'], " ");
    let mut mark = None;
    if text.contains('\u{feff}') {
        mark = ('\u{e000}'..='\u{f8ff}').find(|c| !text.contains(*c));
    }
    if let Some(own) = mark {
        text = text.replace('\u{feff}', own.encode_utf8(&mut [0; 4]));
    }
    Ok(PreparedFrontMatter { text, mark })
}

fn is_printable(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}'
    )
}

/// Puts the byte-order marks back.
pub(crate) fn restore(node: &mut YamlNode<'_>, own: char) {
    let back = |text: &mut Cow<'_, str>| *text = text.replace(own, "\u{feff}").into();
    match &mut node.value {
        YamlValue::Text(text) => back(text),
        YamlValue::List(items) => items.iter_mut().for_each(|item| restore(item, own)),
        YamlValue::Map(entries) => {
            for entry in entries {
                back(&mut entry.key);
                restore(&mut entry.value, own);
            }
        }
        _ => {}
    }
}

/// Reads a prepared text. The other parser needs no blank between quotes and a comment, and accepts
/// lines of quoted text without indentation or indented by a tab. A tab elsewhere is refused later.
pub(crate) fn read_prepared(yaml: &mut String) -> Result<SkillYamlDocument, YamlError> {
    for _ in 0..MOST_BLANKS {
        let broken = match yaml::read_document(yaml, Span::new(0, yaml.len())) {
            Err(broken) if broken.wants_blank => broken,
            read => return read,
        };
        let at = broken.span.range().start;
        // A document end is not inside quotes, indented or not.
        if yaml.get(at..).is_none_or(|rest| rest.starts_with("...")) {
            return Err(broken);
        }
        yaml.insert(at, ' ');
    }
    yaml::read_document(yaml, Span::new(0, yaml.len()))
}

/// Returns the first construct allowed by YAML and refused by the other parser.
pub(crate) fn refused(document: &SkillYamlDocument, yaml: &str) -> Option<(Span, String)> {
    let odd = document.odd.iter().find(|odd| odd.kind != YamlOddityKind::Merge(true));
    if let Some(odd) = odd {
        return Some((odd.span, format!("{} is not allowed", odd.kind.description())));
    }
    // A `...` ends the document once, and is allowed nowhere else, not even in quotes.
    let end = document.root.as_ref().map(|root| root.span.range().end);
    let mut ends = document_ends(yaml);
    let first = ends.next()?;
    let is_due = end.is_some_and(|end| end <= first);
    let at = if is_due { ends.next()? } else { first };
    let reason = "an end of a document is not expected";
    Some((Span::new(at, at), reason.into()))
}

/// Returns the starts of lines that end a document.
fn document_ends(yaml: &str) -> impl Iterator<Item = usize> {
    let mut start = 0;
    let lines = yaml.split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line)
    });
    let is_end = |line: &str| {
        let rest = line.strip_prefix("...");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n']))
    };
    lines.filter(move |(_, line)| is_end(line)).map(|(at, _)| at)
}

/// Replaces two words it does not read as text: `<<` and `=`, which are types of YAML 1.1.
pub(crate) fn retype(node: &mut YamlNode<'_>) {
    match &mut node.value {
        YamlValue::Text(text) if node.notation == YamlNotation::Plain && (text == "<<" || text == "=") => {
            node.value = YamlValue::List(Vec::new());
        }
        YamlValue::List(items) => items.iter_mut().for_each(retype),
        YamlValue::Map(entries) => entries.iter_mut().for_each(|entry| retype(&mut entry.value)),
        _ => {}
    }
}
