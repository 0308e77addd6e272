//! The boundary between the front matter and the Markdown of a SKILL.md.

use wf_base::source::Span;

/// The two parts of a SKILL.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkillTextParts {
    /// The YAML.
    pub yaml: Span,
    /// The Markdown.
    pub body: Span,
}

/// The reason why a text has no two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceError {
    /// The text does not begin with a fence.
    Start,
    /// The front matter has no closing fence.
    Close,
}

/// Splits at lines that are `---`, as the standard says. A byte-order mark before the first is
/// skipped.
pub(super) fn by_lines(text: &str) -> Result<SkillTextParts, FenceError> {
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut yaml = None;
    for line in text.get(at..).unwrap_or("").split_inclusive('\n') {
        let is_fence = line.strip_prefix("---").is_some_and(is_blank);
        match yaml {
            None if !is_fence => return Err(FenceError::Start),
            None => yaml = Some(at + line.len()),
            Some(start) if is_fence => {
                return Ok(SkillTextParts {
                    yaml: Span::new(start, at),
                    body: Span::new(at + line.len(), text.len()),
                });
            }
            Some(_) => {}
        }
        at += line.len();
    }
    Err(if yaml.is_some() { FenceError::Close } else { FenceError::Start })
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Splits at the first two occurrences of `---`, as the reference validator does.
pub(super) fn by_words(text: &str) -> Result<SkillTextParts, FenceError> {
    let rest = text.strip_prefix("---").ok_or(FenceError::Start)?;
    let end = rest.find("---").ok_or(FenceError::Close)? + 3;
    Ok(SkillTextParts { yaml: Span::new(3, end), body: Span::new(end + 3, text.len()) })
}

#[cfg(test)]
mod tests {
    use super::{FenceError, SkillTextParts, by_lines, by_words};

    fn check(
        split: fn(&str) -> Result<SkillTextParts, FenceError>,
        text: &str,
        expected: Result<(&str, &str), FenceError>,
    ) {
        let slice = |span: wf_base::source::Span| text.get(span.range()).unwrap();
        let found = split(text).map(|parts| (slice(parts.yaml), slice(parts.body)));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn lines_are_fences() {
        check(by_lines, "---\na: 1\n---\nb", Ok(("a: 1\n", "b")));
        check(by_lines, "---\r\na: 1\r\n---\r\nb", Ok(("a: 1\r\n", "b")));
        check(by_lines, "\u{feff}--- \na---b\n---", Ok(("a---b\n", "")));
        check(by_lines, "---\n ---\n---x\n", Err(FenceError::Close));
        for text in ["", "\n---\n---\n", "--- a\n---\n", "x"] {
            check(by_lines, text, Err(FenceError::Start));
        }
    }

    #[test]
    fn words_are_fences() {
        check(by_words, "--- c\na: b --- d", Ok((" c\na: b ", " d")));
        check(by_words, "------", Ok(("", "")));
        check(by_words, "-----", Err(FenceError::Close));
        check(by_words, "\u{feff}---\n---", Err(FenceError::Start));
    }
}
