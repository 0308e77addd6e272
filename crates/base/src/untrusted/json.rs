use std::borrow::Cow;
use std::fmt::Write as _;

use super::marks::is_hidden;

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

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn values_stay_as_they_are() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}31m\u{e0041}\u{1b}\n\u{7f}ü ##[x]\\##["});
        let text = value.to_string();
        let shown = json(&text);
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'));
        assert!(!shown.contains("##["), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
