use std::fmt::Write as _;

/// Whether a text has characters that do not show, or that change how others show.
pub fn hides(text: &str) -> bool {
    text.chars().any(is_hidden)
}

/// A text as it is safe to look at: characters that do not show, or that change how others show,
/// are written as `⟨U+202E⟩`. Line ends stay, and a tab is four spaces.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push_str("    "),
            c if is_hidden(c) => drop(write!(shown, "⟨U+{:04X}⟩", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Format characters, blanks that are no space, selectors and tags, what Unicode calls ignorable
/// by default, and what has no meaning of its own (private use).
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

fn is_hidden(c: char) -> bool {
    let listed = || HIDDEN.iter().any(|(from, to)| (*from..=*to).contains(&c));
    !matches!(c, '\n' | '\t') && (c.is_control() || !c.is_ascii() && listed())
}

#[cfg(test)]
mod tests {
    use super::{hides, visible};

    #[test]
    fn what_does_not_show_is_shown() {
        for (text, shown) in [
            ("rm -rf x", "rm -rf x"),
            ("naïve 技能\n\tx", "naïve 技能\n    x"),
            ("a\u{202e}b", "a⟨U+202E⟩b"),
            ("a\u{1b}[2Kb\r", "a⟨U+001B⟩[2Kb⟨U+000D⟩"),
            ("zero\u{200b}width", "zero⟨U+200B⟩width"),
            ("tag\u{e0041}", "tag⟨U+E0041⟩"),
            ("blank\u{a0}\u{3164}", "blank⟨U+00A0⟩⟨U+3164⟩"),
        ] {
            assert_eq!(visible(text), shown);
            assert_eq!(hides(text), shown.contains('⟨'), "{text:?}");
            assert!(!hides(&visible(text)), "{text:?}");
        }
    }
}
