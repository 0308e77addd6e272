/// Text that can be shown on a terminal: no escape sequences, no control characters but line
/// ends and tabs, nothing that turns the direction of writing. Of a line that was written over
/// with carriage returns, what it showed in the end remains.
pub fn harmless(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in without_escapes(text).split_inclusive('\n') {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (line, ""),
        };
        let shown = body.trim_end_matches('\r').rsplit('\r').next();
        plain.extend(shown.unwrap_or_default().chars().map(harmless_char));
        plain.push_str(end);
    }
    plain
}

fn harmless_char(c: char) -> char {
    match c {
        '\t' => c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after_escape(after);
    }
    plain.push_str(rest);
    plain
}

/// What follows an escape sequence, whose escape character is read already.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => {
            let rest = chars.as_str();
            let end = rest.find(|c: char| !(' '..='?').contains(&c));
            match end.and_then(|end| rest.split_at_checked(end)) {
                Some((_, last)) => after_final(last),
                None => "",
            }
        }
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str()),
        Some(c) if c.is_control() => text,
        Some(_) => chars.as_str(),
        None => "",
    }
}

/// Skips the letter that ends a control sequence; anything else belongs to the text.
fn after_final(text: &str) -> &str {
    text.strip_prefix(|c: char| ('@'..='~').contains(&c))
        .unwrap_or(text)
}

/// Skips a string that a bell or a string terminator ends; without one, its line.
fn after_string(text: &str) -> &str {
    let end = text.find(['\u{7}', '\u{1b}', '\n']).unwrap_or(text.len());
    let rest = text.get(end..).unwrap_or_default();
    rest.strip_prefix('\u{7}')
        .or_else(|| rest.strip_prefix("\u{1b}\\"))
        .unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::harmless;
    use proptest::prelude::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(harmless(text), shown, "{text:?}");
    }

    #[test]
    fn only_text_remains() {
        check("plain ü\n\tx\n", "plain ü\n\tx\n");
        check("\u{1b}[31mred\u{1b}[0m", "red");
        check("\u{1b}]0;title\u{7}text", "text");
        check("\u{1b}]8;;http://x\u{1b}\\link", "link");
        check("10%\r50%\rdone\r\n", "done\n");
        check("a\u{7}b\0c\u{9b}d", "a\u{fffd}b\u{fffd}c\u{fffd}d");
        check("\u{202e}gpj.exe", "\u{fffd}gpj.exe");
        check("\u{1b}", "");
        check("\u{1b}[1;", "");
        check("\u{1b}[31\nnext", "\nnext");
        check("\u{1b}]open\nnext", "\nnext");
    }

    proptest! {
        #[test]
        fn no_control_character_passes(text in "(\\PC|[\\x00-\\x1f\\x7f]|\u{1b}\\[|\u{1b}\\]){0,60}") {
            let shown = harmless(&text);
            let bad = shown.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            prop_assert_eq!(bad, None);
        }
    }
}
