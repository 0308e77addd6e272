use std::ops::Range;

use crate::gate::guardrail::script::{is_selector, is_tag, tagged};

/// The place of an original character, in bytes.
#[derive(Clone, Copy)]
struct CharSpan {
    start: u32,
    end: u32,
}

/// A text as words: lower case, single spaces, no invisible characters.
#[derive(Default)]
pub(super) struct NormalizedText {
    pub(super) text: String,
    /// The original character, for each byte.
    spans: Vec<CharSpan>,
}

impl NormalizedText {
    pub(super) fn of(text: &str) -> Self {
        let mut words =
            Self { text: String::with_capacity(text.len()), spans: Vec::with_capacity(text.len()) };
        let mut in_tags = false;
        for (at, c) in text.char_indices() {
            let place = CharSpan { start: narrow(at), end: narrow(at + c.len_utf8()) };
            if is_tag(c) != in_tags {
                in_tags = !in_tags;
                words.space(place);
            }
            let c = if is_tag(c) { tagged(c) } else { Some(c) };
            match c.map(plain) {
                None => {}
                Some(c) if is_unseen(c) => {}
                Some(c) if c.is_alphanumeric() => {
                    for lower in c.to_lowercase() {
                        words.push(lower, place);
                    }
                }
                Some(_) => words.space(place),
            }
        }
        words
    }

    fn space(&mut self, span: CharSpan) {
        if !self.text.ends_with(' ') && !self.text.is_empty() {
            self.push(' ', span);
        }
    }

    fn push(&mut self, c: char, span: CharSpan) {
        self.text.push(c);
        self.spans.resize(self.text.len(), span);
    }

    /// Returns the original range of a part of the words, in bytes.
    pub(super) fn place(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let start = self.spans.get(part.start)?.start;
        let end = self.spans.get(part.end.checked_sub(1)?)?.end;
        Some(start as usize..end as usize)
    }
}

fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Maps full-width letters to the plain ones.
fn plain(c: char) -> char {
    match u32::from(c) {
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}

fn is_unseen(c: char) -> bool {
    is_selector(c)
        || matches!(u32::from(c),
            0xAD | 0x034F | 0x061C | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
            | 0x2060..=0x206F | 0xFEFF)
}
