use std::borrow::Cow;
use std::fmt::{self, Write as _};

use super::{marks, printed};

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
        UntrustedText(Cow::Owned(printed::terminal_text(&String::from_utf8_lossy(bytes))))
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

#[cfg(test)]
mod tests {
    use super::{UntrustedText, untrusted};
    use crate::untrusted::hides;
    use proptest::prelude::*;

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
}
