use std::{borrow::Cow, fmt, fmt::Write as _};

use crate::untrusted::{marks, marks::is_hidden};

/// Text from an untrusted author. It displays as one line, with a visible mark for every character that is
/// invisible or changes how others show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UntrustedText<'a>(Cow<'a, str>);

/// Wraps a text as untrusted.
pub fn untrusted(text: &str) -> UntrustedText<'_> {
    UntrustedText(Cow::Borrowed(text))
}

impl UntrustedText<'_> {
    /// Wraps the output of a program. Colours, and text a terminal overwrites when the cursor returns to the
    /// beginning of a line, are removed.
    pub fn printed(bytes: &[u8]) -> UntrustedText<'static> {
        UntrustedText(Cow::Owned(terminal_text(&String::from_utf8_lossy(bytes))))
    }

    /// Returns the text as it is, for programs.
    pub fn raw(&self) -> &str {
        &self.0
    }

    /// Returns its lines, without their ends.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = UntrustedText<'_>> {
        self.0.lines().map(untrusted)
    }

    /// Returns all of it with line ends, for output that contains nothing else.
    pub fn block(&self) -> String {
        let mut block = String::with_capacity(self.0.len());
        for part in self.0.split_inclusive('\n') {
            let (line, end) = match part.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (part, ""),
            };
            let _ = write!(block, "{}{end}", untrusted(line));
        }
        block
    }
}

impl fmt::Display for UntrustedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| marks::write(c, f))
    }
}

impl From<&str> for UntrustedText<'static> {
    fn from(text: &str) -> Self {
        Self(Cow::Owned(text.to_owned()))
    }
}

/// The prefix of a GitHub Actions command, anywhere in a line.
const COMMAND: &str = "##[";

/// Returns a JSON text whose strings have escapes in place of invisible characters, and of GitHub Actions
/// commands. Its values stay as they are: outside strings JSON has no such character.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) && !text.contains(COMMAND) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    let mut units = [0; 2];
    for (at, c) in text.char_indices() {
        let is_command = c == '#' && text.get(at..).is_some_and(|rest| rest.starts_with(COMMAND));
        if is_command || is_hidden(c) {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Quotes a word for a shell, to which brackets, and characters in the keys of items, are special.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns the text a terminal leaves of printed text: without colours, the last writing of each line.
pub(super) fn terminal_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        let (line, end) = match part.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (part, ""),
        };
        let last = line.trim_end_matches('\r').rsplit('\r').next();
        uncoloured(last.unwrap_or_default(), &mut plain);
        plain.push_str(end);
    }
    plain
}

/// Removes colours, erasures to the end of a line, which programs print even into files, and selectors of how
/// a character is drawn.
fn uncoloured(line: &str, plain: &mut String) {
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        if let Some(after) = strip_colour(rest) {
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{fe0e}' | '\u{fe0f}' if is_symbol(before) => {}
            '\u{a0}' | '\u{202f}' | '\u{3000}' => plain.push(' '),
            c => plain.push(c),
        }
        before = c;
    }
}

/// Returns the text after a colour, if it begins with one.
fn strip_colour(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | ':'));
    rest.strip_prefix(['m', 'K'])
}

/// True if a character is a sign with a coloured form.
fn is_symbol(c: char) -> bool {
    matches!(c, '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{2100}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{UntrustedText, json, shell_word, untrusted};
    use crate::untrusted::hides;

    #[test]
    fn characters_that_do_not_show_are_marks() {
        for (text, shown) in [
            ("rm -rf x", "rm -rf x"),
            ("naïve 技能\tx", "naïve 技能    x"),
            ("a\u{202e}b", "a⟨U+202E⟩b"),
            ("a\u{1b}[2Kb\r", "a⟨U+001B⟩[2Kb⟨U+000D⟩"),
            ("c\u{9b}31m", "c⟨U+009B⟩31m"),
            ("zero\u{200b}width", "zero⟨U+200B⟩width"),
            ("tag\u{e0041}", "tag⟨U+E0041⟩"),
            ("blank\u{a0}\u{3164}", "blank⟨U+00A0⟩⟨U+3164⟩"),
        ] {
            assert_eq!(untrusted(text).to_string(), shown);
            assert_eq!(hides(text), shown.contains('⟨'), "{text:?}");
        }
        assert_eq!(untrusted("a\n::error::b").to_string(), "a⏎::error::b");
    }

    #[test]
    fn output_shows_as_a_terminal_leaves_it() {
        for (text, shown) in [
            ("plain ü\n    x\n", "plain ü\n    x\n"),
            ("\u{1b}[31mred\u{1b}[0m\u{1b}[K", "red"),
            ("10%\r50%\rdone\r\n", "done\n"),
            ("⚠\u{fe0f} 1\u{a0}000", "⚠ 1 000"),
            ("\u{1b}]0;title\u{7}text", "⟨U+001B⟩]0;title⟨U+0007⟩text"),
            ("\u{1b}[2Jx", "⟨U+001B⟩[2Jx"),
            ("\u{1b}[31\nnext", "⟨U+001B⟩[31\nnext"),
        ] {
            assert_eq!(UntrustedText::printed(text.as_bytes()).block(), shown, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_shown(text in "(\\PC|[\\x00-\\x1f\\x7f-\\x9f]|[\u{200b}-\u{206f}]|\u{1b}\\[){0,60}") {
            let line = untrusted(&text).to_string();
            prop_assert!(!hides(&line) && !line.contains(['\n', '\t']));
            let block = UntrustedText::printed(text.as_bytes()).block();
            prop_assert!(!hides(&block) && !block.contains('\t'));
        }
    }

    #[test]
    fn values_stay_as_they_are() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}31m\u{e0041}\u{1b}\n\u{7f}ü ##[x]\\##["});
        let text = value.to_string();
        let shown = json(&text);
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'));
        assert!(!shown.contains("##["), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_shell_takes_a_place_as_it_is() {
        for (place, typed) in [
            ("all/build", "all/build"),
            ("", "''"),
            ("build[linux,3.12]", "'build[linux,3.12]'"),
            ("greet[it's]", r"'greet[it'\''s]'"),
            ("cost[$5]", "'cost[$5]'"),
        ] {
            assert_eq!(shell_word(place), typed);
        }
    }
}
