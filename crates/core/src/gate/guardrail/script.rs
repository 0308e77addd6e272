//! Properties of characters and scripts (Unicode 16).

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
