//! Styles of a terminal: those of `wf` are told from those in a text of others by a secret key.

use std::{
    borrow::Cow,
    fmt::Display,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::LazyLock,
};

use anstyle::Style;

use super::marks;

/// The secret key before each style of this process: characters of private use.
static KEY: LazyLock<String> = LazyLock::new(|| {
    let character = |at: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(at);
        let bits = u32::try_from(hasher.finish() & 0xffff).unwrap_or(0);
        char::from_u32(0x10_0000 + bits.min(0xfffd)).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    (0..6).map(character).collect()
});

/// Styles a text. Only text styled here keeps its style in the end.
pub fn paint<T: Display + ?Sized>(style: Style, text: &T) -> String {
    if style.is_plain() {
        return text.to_string();
    }
    let key = &*KEY;
    format!("{key}{style}{text}{key}{style:#}")
}

/// Marks the styles in a text as those of `wf`; only for a renderer whose words are all safe to display.
pub fn rendered(text: &str) -> String {
    text.replace("\u{1b}[", &format!("{}\u{1b}[", *KEY))
}

/// Returns the text without styles.
pub fn plain(text: &str) -> String {
    anstream::adapter::strip_str(&text.replace(KEY.as_str(), "")).to_string()
}

/// Returns painted text of any number of lines, safe for a terminal: everything that hides or moves, and was
/// not painted, is replaced by a mark.
pub fn styled(text: &str) -> Cow<'_, str> {
    clean(text, true, false)
}

/// Does the same with a part of a line of a painted text: its styles keep their key, and a line end is a mark.
pub fn styled_line(text: &str) -> Cow<'_, str> {
    clean(text, false, true)
}

fn clean(text: &str, keeps_lines: bool, keeps_keys: bool) -> Cow<'_, str> {
    let is_odd = |c: char| marks::is_hidden(c) || c == '\t' || c == '\n' && !keeps_lines;
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_odd) {
        let (before, odd) = rest.split_at(at);
        cleaned.push_str(before);
        rest = if let Some(after) = odd.strip_prefix(KEY.as_str()) {
            let style = leading_style(after);
            if keeps_keys {
                cleaned.push_str(&KEY);
            }
            cleaned.push_str(style);
            after.get(style.len()..).unwrap_or_default()
        } else {
            let mut chars = odd.chars();
            let _ = chars.next().map(|c| marks::write(c, &mut cleaned));
            chars.as_str()
        };
    }
    cleaned.push_str(rest);
    Cow::Owned(cleaned)
}

/// Returns the styles a text begins with.
fn leading_style(text: &str) -> &str {
    let mut end = 0;
    while let Some(body) = text.get(end..).and_then(|rest| rest.strip_prefix("\u{1b}[")) {
        let numbers = body.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        let Some(after) = numbers.strip_prefix('m') else {
            break;
        };
        end = text.len() - after.len();
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{paint, plain, styled, styled_line};
    use anstyle::{AnsiColor, Effects};

    #[test]
    fn only_painted_styles_pass() {
        let style = AnsiColor::Green.on_default().effects(Effects::BOLD);
        let own = format!("a {}\n", paint(style, "b"));
        let shown = "a \u{1b}[1m\u{1b}[32mb\u{1b}[0m";
        assert_eq!(styled(&own), format!("{shown}\n"));
        assert_eq!(styled(&styled_line(&own)), format!("{shown}⏎"));
        assert_eq!(plain(&own), "a b\n");
        for (text, shown) in [
            ("\u{1b}[1mx\u{1b}[0m", "⟨U+001B⟩[1mx⟨U+001B⟩[0m"),
            ("\u{1b}[2Jx", "⟨U+001B⟩[2Jx"),
            ("\u{1b}]52;c;eA==\u{7}", "⟨U+001B⟩]52;c;eA==⟨U+0007⟩"),
            ("\u{9b}31m\r\u{202e}", "⟨U+009B⟩31m⟨U+000D⟩⟨U+202E⟩"),
            ("\u{100000}\u{1b}[1m", "⟨U+100000⟩⟨U+001B⟩[1m"),
        ] {
            assert_eq!(styled(text), shown, "{text:?}");
            assert_eq!(styled_line(text), shown, "{text:?}");
        }
        let nested = paint(style, &(paint(style, "x") + "\u{1b}[2J"));
        assert_eq!(plain(&styled(&nested)), "x⟨U+001B⟩[2J");
        assert_eq!(styled_line("a\nb"), "a⏎b");
    }
}
