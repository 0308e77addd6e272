use std::fmt;

use anstyle::{AnsiColor, Effects, Style};

/// The mark for the end of a line within a line.
const LINE_END: &str = "⏎";

/// True if a text has characters that are invisible, or that change how others show.
pub fn hides(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// Writes a character in a form that is safe to display, on the same line: a tab is four spaces.
pub(super) fn write(c: char, out: &mut impl fmt::Write) -> fmt::Result {
    match c {
        '\n' => out.write_str(LINE_END),
        '\t' => out.write_str("    "),
        c if is_hidden(c) => write!(out, "⟨U+{:04X}⟩", u32::from(c)),
        c => out.write_char(c),
    }
}

/// Format characters, blanks other than space, selectors and tags, code points that Unicode ignores
/// by default, and private use.
const HIDDEN: &[(char, char)] = &[
    ('\u{a0}', '\u{a0}'),
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2000}', '\u{200f}'),
    ('\u{2028}', '\u{202f}'),
    ('\u{205f}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{e000}', '\u{f8ff}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{110bd}', '\u{110cd}'),
    ('\u{13430}', '\u{1345f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{10ffff}'),
];

/// True if a character is invisible, or changes how others show. Tabs and line ends do not hide.
pub(super) fn is_hidden(c: char) -> bool {
    let listed = || HIDDEN.iter().any(|(from, to)| (*from..=*to).contains(&c));
    !matches!(c, '\n' | '\t') && (c.is_control() || !c.is_ascii() && listed())
}

/// Success.
pub const GOOD: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
/// Failure.
pub const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
/// Warnings.
pub const WARN: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
/// Secondary text.
pub const DIM: Style = Style::new().effects(Effects::DIMMED);
/// Important text.
pub const BOLD: Style = Style::new().effects(Effects::BOLD);
/// The name of something that commands accept.
pub const NAME: Style = AnsiColor::Cyan.on_default();
