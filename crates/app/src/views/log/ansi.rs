//! The colours of a line: a terminal's codes become names from a fixed list, which a page can show by its style sheet alone.
//!
//! Every other code of a terminal stays in the text, and shows as a mark there.

use serde::Serialize;

use wf_base::untrusted::UntrustedText;

/// The names of the colours of a terminal, by number.
const COLOURS: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// The style of a part of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogStyle {
    /// The number of the colour of its letters.
    colour: Option<u8>,
    /// The number of the colour behind them.
    ground: Option<u8>,
    is_bold: bool,
    is_italic: bool,
    is_underlined: bool,
}

/// A part of a line with one style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinePart {
    /// Its text, safe to show.
    pub text: String,
    /// The names of its style, separated by blanks; empty: plain.
    pub style: String,
}

impl LogStyle {
    /// Returns its names, separated by blanks.
    fn names(self) -> String {
        let mut names = Vec::new();
        for (is_set, name) in
            [(self.is_bold, "bold"), (self.is_italic, "italic"), (self.is_underlined, "underline")]
        {
            if is_set {
                names.push(name.to_owned());
            }
        }
        for (colour, prefix) in [(self.colour, "fg"), (self.ground, "bg")] {
            if let Some(name) = colour.and_then(|number| COLOURS.get(usize::from(number))) {
                names.push(format!("{prefix}-{name}"));
            }
        }
        names.join(" ")
    }

    /// Returns the style after the numbers of a code; those of other effects change nothing.
    fn after(mut self, codes: &str) -> Self {
        let mut codes = codes.split(';');
        while let Some(code) = codes.next() {
            // Details of a number follow it behind colons.
            let (code, detail) = code.split_once(':').unwrap_or((code, ""));
            match code.parse::<u8>().unwrap_or(0) {
                0 => self = Self::default(),
                1 => self.is_bold = true,
                22 => self.is_bold = false,
                3 => self.is_italic = true,
                23 => self.is_italic = false,
                4 => self.is_underlined = detail != "0",
                24 => self.is_underlined = false,
                code @ 30..=37 => self.colour = Some(code - 30),
                code @ 90..=97 => self.colour = Some(code - 90 + 8),
                code @ 40..=47 => self.ground = Some(code - 40),
                code @ 100..=107 => self.ground = Some(code - 100 + 8),
                39 => self.colour = None,
                49 => self.ground = None,
                38 => self.colour = indexed(detail, &mut codes),
                48 => self.ground = indexed(detail, &mut codes),
                58 => drop(indexed(detail, &mut codes)),
                _ => {}
            }
        }
        self
    }
}

/// Returns the number of a colour by its place in the table of a terminal; `None` if it is another than the first 16.
fn indexed<'a>(detail: &str, codes: &mut impl Iterator<Item = &'a str>) -> Option<u8> {
    let number = if let Some(number) = detail.strip_prefix("5:") {
        number
    } else if detail.is_empty() {
        match codes.next()? {
            "5" => codes.next()?,
            "2" => {
                codes.nth(2);
                return None;
            }
            _ => return None,
        }
    } else {
        return None;
    };
    number.parse().ok().filter(|number| *number < 16)
}

/// Divides a line by its styles. Returns the style at its end.
pub(super) fn styled_parts(line: &str, start: LogStyle, parts: &mut Vec<LinePart>) -> LogStyle {
    let (mut style, mut rest) = (start, line);
    let mut plain = String::new();
    while let Some(at) = rest.find('\u{1b}') {
        let (before, code) = rest.split_at(at);
        plain.push_str(before);
        let Some((codes, after)) = styling(code) else {
            plain.push('\u{1b}');
            rest = code.get(1..).unwrap_or_default();
            continue;
        };
        let next = codes.map_or(style, |codes| style.after(codes));
        if next != style {
            push_part(&plain, style, parts);
            plain.clear();
        }
        (style, rest) = (next, after);
    }
    plain.push_str(rest);
    push_part(&plain, style, parts);
    style
}

/// Returns the style after a line.
pub(super) fn style_after(line: &str, start: LogStyle) -> LogStyle {
    let (mut style, mut rest) = (start, line);
    while let Some(code) = rest.find('\u{1b}').and_then(|at| rest.get(at..)) {
        let Some((codes, after)) = styling(code) else {
            rest = code.get(1..).unwrap_or_default();
            continue;
        };
        style = codes.map_or(style, |codes| style.after(codes));
        rest = after;
    }
    style
}

fn push_part(plain: &str, style: LogStyle, parts: &mut Vec<LinePart>) {
    if !plain.is_empty() {
        let text = UntrustedText::printed(plain.as_bytes()).block();
        parts.push(LinePart { text, style: style.names() });
    }
}

/// Returns the numbers of the style that a text begins with, and the text after it. An erasure of the rest of a line, which
/// programs print even into files, has none.
fn styling(text: &str) -> Option<(Option<&str>, &str)> {
    let body = text.strip_prefix("\u{1b}[")?;
    let after = body.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | ':'));
    let codes = body.get(..body.len() - after.len())?;
    match after.strip_prefix('m') {
        Some(after) => Some((Some(codes), after)),
        None => after.strip_prefix('K').map(|after| (None, after)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LogStyle, style_after, styled_parts};
    use wf_base::untrusted::{UntrustedText, hides};

    fn parts(line: &str) -> Vec<(String, String)> {
        let mut parts = Vec::new();
        styled_parts(line, LogStyle::default(), &mut parts);
        parts.into_iter().map(|part| (part.text, part.style)).collect()
    }

    #[track_caller]
    fn check(line: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(text, style)| ((*text).to_owned(), (*style).to_owned())).collect();
        assert_eq!(parts(line), expected, "{line:?}");
    }

    #[test]
    fn styles_of_a_terminal_have_names() {
        check("plain", &[("plain", "")]);
        check("", &[]);
        check("a\u{1b}[31mb\u{1b}[0mc", &[("a", ""), ("b", "fg-red"), ("c", "")]);
        check(
            "\u{1b}[1;3;4;92;44mx\u{1b}[22;39my",
            &[("x", "bold italic underline fg-bright-green bg-blue"), ("y", "italic underline bg-blue")],
        );
        check("\u{1b}[mx\u{1b}[32m\u{1b}[Ky", &[("x", ""), ("y", "fg-green")]);
        check(
            "\u{1b}[38;5;9;1mx\u{1b}[4:0;38:5:3mz",
            &[("x", "bold fg-bright-red"), ("z", "bold fg-yellow")],
        );
    }

    #[test]
    fn colours_beyond_the_table_are_those_of_the_page() {
        check("\u{1b}[38;2;1;2;3;1mx", &[("x", "bold")]);
        check("\u{1b}[38;5;200;4mx", &[("x", "underline")]);
        check("\u{1b}[48:2::1:2:3;3mx", &[("x", "italic")]);
        check("\u{1b}[999;7mx", &[("x", "")]);
    }

    #[test]
    fn other_codes_are_marks() {
        check("\u{1b}[2Jx", &[("⟨U+001B⟩[2Jx", "")]);
        check("\u{1b}]52;c;eA==\u{7}\u{1b}[31", &[("⟨U+001B⟩]52;c;eA==⟨U+0007⟩⟨U+001B⟩[31", "")]);
        check("\u{1b}\u{1b}[1m\u{202e}<b>", &[("⟨U+001B⟩", ""), ("⟨U+202E⟩<b>", "bold")]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_hides(line in "([a-z<é]|\u{1b}|\u{1b}\\[[0-9;:]{0,9}[mKJ]|[\u{200b}-\u{206f}]){0,30}") {
            let shown: String = parts(&line).into_iter().map(|(text, _)| text).collect();
            prop_assert_eq!(&shown, &UntrustedText::printed(line.as_bytes()).block());
            prop_assert!(!hides(&shown));
            let end = styled_parts(&line, LogStyle::default(), &mut Vec::new());
            prop_assert_eq!(style_after(&line, LogStyle::default()), end);
            for (_, style) in parts(&line) {
                prop_assert!(style.split(' ').all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
            }
        }
    }
}
