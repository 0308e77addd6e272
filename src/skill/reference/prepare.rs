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
/// lines of quoted text that are not indented.
pub(in crate::skill) fn read(yaml: &mut String) -> Result<Document, Broken> {
    for _ in 0..MOST_BLANKS {
        match yaml::read(yaml, Span::new(0, yaml.len())) {
            Err(broken) if broken.wants_blank => yaml.insert(broken.span.range().start, ' '),
            read => return read,
        }
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
    let mut lines = yaml
        .lines()
        .filter(|line| document.root.is_none() && *line == "...");
    lines.next().map(|_| {
        (
            Span::default(),
            "there is no document before its end".into(),
        )
    })
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
