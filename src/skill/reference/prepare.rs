//! A text as the reference validator's reader sees it.

use super::super::yaml::{self, Broken, Document, Form, Node, OddKind, Value};
use crate::source::Span;

/// How often a blank is put in that our parser wants and the other one does not.
const MOST_BLANKS: usize = 32;

/// A front matter that our parser reads as the other one reads the front matter itself.
pub(in crate::skill) struct Prepared {
    /// The text.
    pub(in crate::skill) text: String,
    /// The character that stands for U+FEFF, if there is one.
    pub(in crate::skill) mark: Option<char>,
}

/// Every line end as `\n`.
pub(in crate::skill) fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Replaces what the parsers take differently: three line ends of YAML 1.1, after which the other
/// one goes on counting columns, so that they are blanks to it in almost all places; and a
/// byte-order mark in the text, of which the first character is none. An error is where a
/// character stands that YAML does not allow.
pub(in crate::skill) fn prepare(yaml: &str) -> Result<Prepared, usize> {
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
    Ok(Prepared { text, mark })
}

fn is_printable(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}'
    )
}

/// Puts the byte-order marks back.
pub(in crate::skill) fn restore(node: &mut Node, own: char) {
    let back = |text: &mut String| *text = text.replace(own, "\u{feff}");
    match &mut node.value {
        Value::Text(text) => back(text),
        Value::List(items) => items.iter_mut().for_each(|item| restore(item, own)),
        Value::Map(entries) => {
            for entry in entries {
                back(&mut entry.key);
                restore(&mut entry.value, own);
            }
        }
    }
}

/// Reads what is prepared. The other parser needs no blank between quotes and a comment, and takes
/// lines of quoted text that are not indented, or by a tab. A tab elsewhere is refused later.
pub(in crate::skill) fn read(yaml: &mut String) -> Result<Document, Broken> {
    for _ in 0..MOST_BLANKS {
        let broken = match yaml::read(yaml, Span::new(0, yaml.len())) {
            Err(broken) if broken.wants_blank => broken,
            read => return read,
        };
        let at = broken.span.range().start;
        // What would end the document stands in no quotes, indented or not.
        if yaml.get(at..).is_none_or(|rest| rest.starts_with("...")) {
            return Err(broken);
        }
        yaml.insert(at, ' ');
    }
    yaml::read(yaml, Span::new(0, yaml.len()))
}

/// What the other parser refuses in a text that YAML allows.
pub(in crate::skill) fn refused(document: &Document, yaml: &str) -> Option<(Span, String)> {
    let odd = document
        .odd
        .iter()
        .find(|odd| odd.kind != OddKind::Merge(true));
    if let Some(odd) = odd {
        return Some((odd.span, format!("{} is not allowed", odd.kind.says())));
    }
    // A `...` ends the document, once, and stands nowhere else, not even in quotes.
    let end = document.root.as_ref().map(|root| root.span.range().end);
    let mut ends = document_ends(yaml);
    let first = ends.next()?;
    let is_due = end.is_some_and(|end| end <= first);
    let at = if is_due { ends.next()? } else { first };
    let why = "an end of a document is not expected";
    Some((Span::new(at, at), why.into()))
}

/// Where lines begin that end a document.
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
    lines
        .filter(move |(_, line)| is_end(line))
        .map(|(at, _)| at)
}

/// Two words are no text to it: `<<` and `=`, which are types of YAML 1.1.
pub(in crate::skill) fn retype(node: &mut Node) {
    match &mut node.value {
        Value::Text(text) => {
            if node.form == Form::Plain && (text == "<<" || text == "=") {
                node.value = Value::List(Vec::new());
            }
        }
        Value::List(items) => items.iter_mut().for_each(retype),
        Value::Map(entries) => entries
            .iter_mut()
            .for_each(|entry| retype(&mut entry.value)),
    }
}
