//! Where the front matter of a SKILL.md ends and its Markdown begins.

use crate::source::Span;

/// The two parts of a SKILL.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The YAML.
    pub yaml: Span,
    /// The Markdown.
    pub body: Span,
}

/// Why there are no two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfenced {
    /// The text does not begin with a fence.
    Start,
    /// The front matter has no end.
    Close,
}

/// Splits at lines that are `---`, as the standard says it. A byte-order mark before the first
/// is passed over.
pub(super) fn by_lines(text: &str) -> Result<Parts, Unfenced> {
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut yaml = None;
    for line in text.get(at..).unwrap_or("").split_inclusive('\n') {
        let is_fence = line.strip_prefix("---").is_some_and(is_blank);
        match yaml {
            None if !is_fence => return Err(Unfenced::Start),
            None => yaml = Some(at + line.len()),
            Some(start) if is_fence => {
                return Ok(Parts {
                    yaml: Span::new(start, at),
                    body: Span::new(at + line.len(), text.len()),
                });
            }
            Some(_) => {}
        }
        at += line.len();
    }
    Err(if yaml.is_some() {
        Unfenced::Close
    } else {
        Unfenced::Start
    })
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Splits at the first two `---`, wherever they stand, as the reference validator does.
pub(super) fn by_words(text: &str) -> Result<Parts, Unfenced> {
    let rest = text.strip_prefix("---").ok_or(Unfenced::Start)?;
    let end = rest.find("---").ok_or(Unfenced::Close)? + 3;
    Ok(Parts {
        yaml: Span::new(3, end),
        body: Span::new(end + 3, text.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::{Parts, Unfenced, by_lines, by_words};

    fn check(
        split: fn(&str) -> Result<Parts, Unfenced>,
        text: &str,
        expected: Result<(&str, &str), Unfenced>,
    ) {
        let slice = |span: crate::source::Span| text.get(span.range()).unwrap();
        let found = split(text).map(|parts| (slice(parts.yaml), slice(parts.body)));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn lines_are_fences() {
        check(by_lines, "---\na: 1\n---\nb", Ok(("a: 1\n", "b")));
        check(by_lines, "---\r\na: 1\r\n---\r\nb", Ok(("a: 1\r\n", "b")));
        check(by_lines, "\u{feff}--- \na---b\n---", Ok(("a---b\n", "")));
        check(by_lines, "---\n ---\n---x\n", Err(Unfenced::Close));
        for text in ["", "\n---\n---\n", "--- a\n---\n", "x"] {
            check(by_lines, text, Err(Unfenced::Start));
        }
    }

    #[test]
    fn words_are_fences() {
        check(by_words, "--- c\na: b --- d", Ok((" c\na: b ", " d")));
        check(by_words, "------", Ok(("", "")));
        check(by_words, "-----", Err(Unfenced::Close));
        check(by_words, "\u{feff}---\n---", Err(Unfenced::Start));
    }
}
