use super::detector::DetectorMatch;
use super::script::{has_no_spaces, is_from_right, is_ideograph, is_picture, is_selector, is_tag, joins};

/// Finds invisible characters. Consecutive ones are one finding.
pub(super) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    if text.is_ascii() {
        return;
    }
    let mut line = ExaminedLine::default();
    let mut before = None;
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let after = text.get(at + c.len_utf8()..).unwrap_or_default();
        let flag = if c == FLAG { flag(after) } else { 0 };
        if flag == 0
            && let Some(kind) = hidden(c)
            && !(at == 0 && c == '\u{FEFF}')
            && !is_needed(before, c, after.chars().next())
            && !(is_mark(c) && line.is_from_right(text, at))
        {
            let end = at + c.len_utf8();
            match found.last_mut() {
                Some((_, last)) if last.end == at => last.end = end,
                _ => found.push((kind, at..end)),
            }
        }
        before = Some(c);
        at += c.len_utf8() + flag;
    }
}

/// The black flag, after which tags may name its region.
const FLAG: char = '\u{1F3F4}';

/// Returns the length of the tags of a flag, in bytes: letters and digits, and the end.
fn flag(after: &str) -> usize {
    let tags = after.chars().take_while(|c| is_tag(*c));
    let mut long = 0;
    for (at, c) in tags.enumerate() {
        long += c.len_utf8();
        match u32::from(c) {
            0xE0030..=0xE0039 | 0xE0061..=0xE007A if at < 6 => {}
            0xE007F if at > 0 => return long,
            _ => return 0,
        }
    }
    0
}

/// Returns the kind of an invisible character; `None`: it is visible, or common.
fn hidden(c: char) -> Option<&'static str> {
    Some(match u32::from(c) {
        0x202A..=0x202E | 0x2066..=0x2069 => "a bidirectional control",
        0x061C | 0x200E | 0x200F => "a directional mark",
        0x200B..=0x200D | 0x2060 | 0xFEFF | 0x180E => "a zero-width character",
        0x00AD => "a soft hyphen",
        0x034F | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x3164 | 0xFFA0 => "a filler",
        0x2061..=0x2065 | 0x206A..=0x206F | 0xFFF0..=0xFFFB | 0x1D173..=0x1D17A => "an invisible control",
        _ if is_tag(c) => "a tag",
        _ if is_selector(c) => "a variation selector",
        _ => return None,
    })
}

/// True for a direction mark, which is legitimate in right-to-left text.
fn is_mark(c: char) -> bool {
    matches!(u32::from(c), 0x061C | 0x200E | 0x200F)
}

/// True if a character has its proper function between its neighbours.
fn is_needed(before: Option<char>, c: char, after: Option<char>) -> bool {
    let prior = |test: fn(char) -> bool| before.is_some_and(test);
    let next = |test: fn(char) -> bool| after.is_some_and(test);
    match u32::from(c) {
        0x200C => prior(joins),
        0x200D => {
            let picture = |c: char| is_picture(c) || c == '\u{FE0F}' || c == '\u{FE0E}';
            prior(joins) || prior(picture) && next(is_picture)
        }
        0x200B => prior(has_no_spaces) && next(has_no_spaces),
        0x00AD => prior(char::is_alphabetic) && next(char::is_alphabetic),
        0xFE0E | 0xFE0F => prior(is_picture) || prior(|c| c.is_ascii_digit() || matches!(c, '#' | '*')),
        0xFE00..=0xFE0D => prior(|c| {
            let shape = c.is_alphabetic() || is_sign(c);
            !c.is_ascii() && shape && !is_selector(c)
        }),
        0xE0100..=0xE01EF => prior(is_ideograph),
        _ => false,
    }
}

/// True for signs of mathematics and punctuation that have variants.
fn is_sign(c: char) -> bool {
    matches!(u32::from(c), 0x2000..=0x2BFF | 0x3000..=0x303F | 0xFF00..=0xFF65)
}

/// The line being examined.
#[derive(Default)]
struct ExaminedLine {
    end: usize,
    from_right: bool,
}

impl ExaminedLine {
    /// True if part of the line at a position is written from right to left.
    fn is_from_right(&mut self, text: &str, at: usize) -> bool {
        if at >= self.end {
            let start = text.get(..at).and_then(|before| before.rfind('\n'));
            let rest = text.get(at..).unwrap_or_default();
            self.end = rest.find('\n').map_or(text.len(), |long| at + long + 1);
            let line = text.get(start.unwrap_or(0)..self.end).unwrap_or_default();
            self.from_right = line.chars().any(is_from_right);
        }
        self.from_right
    }
}
