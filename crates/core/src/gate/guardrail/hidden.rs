use crate::gate::guardrail::detector::DetectorMatch;

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

/// True if letters of the script are joined, or separated, by zero-width characters.
pub(super) fn joins(c: char) -> bool {
    matches!(u32::from(c),
        // Arabic, Syriac, Thaana, N'Ko, Mandaic and their extensions.
        0x0600..=0x08FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFE
        // The scripts of India and Ceylon, Tibetan, Burmese, Khmer, Mongolian, and their neighbours.
        | 0x0900..=0x0DFF | 0x0F00..=0x109F | 0x1780..=0x18AF | 0x1A20..=0x1AAF | 0x1B00..=0x1BFF
        | 0xA840..=0xA87F | 0xA8E0..=0xA8FF | 0xA980..=0xA9FF | 0xAA60..=0xAA7F | 0xABC0..=0xABFF
        | 0x10D00..=0x10D3F | 0x10F00..=0x10FFF | 0x11000..=0x11FFF | 0x1E900..=0x1E95F)
}

/// True if the script is written without spaces.
pub(super) fn has_no_spaces(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x0F00..=0x109F | 0x1780..=0x17FF | 0x1950..=0x19FF | 0x1A20..=0x1AAF
        | 0x3040..=0x30FF | 0xA9E0..=0xA9FF | 0xAA60..=0xAA7F)
        || is_ideograph(c)
}

/// True if it is written from right to left.
pub(super) fn is_from_right(c: char) -> bool {
    matches!(u32::from(c),
        0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFE | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF)
        && c.is_alphabetic()
}

pub(super) fn is_ideograph(c: char) -> bool {
    matches!(u32::from(c), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// True if it is an emoji, or a sign that can be shown as one.
pub(super) fn is_picture(c: char) -> bool {
    matches!(u32::from(c),
        0xA9 | 0xAE | 0x203C | 0x2049 | 0x2122 | 0x2139 | 0x2190..=0x21FF | 0x2300..=0x27BF
        | 0x2900..=0x297F | 0x2B00..=0x2BFF | 0x3030 | 0x303D | 0x3297 | 0x3299
        | 0x1F000..=0x1FAFF)
}

/// True if it selects the presentation of the character before it.
pub(super) fn is_selector(c: char) -> bool {
    matches!(u32::from(c), 0xFE00..=0xFE0F | 0xE0100..=0xE01EF)
}

/// True if it is an invisible copy of an ASCII character.
pub(super) fn is_tag(c: char) -> bool {
    matches!(u32::from(c), 0xE0000..=0xE007F)
}

/// Returns the ASCII character a tag is an invisible copy of.
pub(super) fn tagged(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xE0000)?;
    char::from_u32(code).filter(|c| is_tag_of(*c))
}

fn is_tag_of(c: char) -> bool {
    matches!(c, ' '..='~')
}
