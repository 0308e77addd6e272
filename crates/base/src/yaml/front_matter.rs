use crate::source::Span;

/// A Markdown file beginning with YAML between `---` lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    pub yaml: Span,
    /// The Markdown.
    pub body: Span,
}

/// The reason why a text has no front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceError {
    /// The text does not begin with a fence.
    Start,
    /// The front matter has no closing fence.
    Close,
}

impl FrontMatter {
    /// Splits a text at its first two `---` lines. A byte-order mark before the first is skipped.
    pub fn split(text: &str) -> Result<Self, FenceError> {
        let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut yaml = None;
        for line in text.get(at..).unwrap_or("").split_inclusive('\n') {
            let is_fence = line.strip_prefix("---").is_some_and(|rest| rest.trim_end().is_empty());
            match yaml {
                None if !is_fence => return Err(FenceError::Start),
                None => yaml = Some(at + line.len()),
                Some(start) if is_fence => {
                    let body = Span::new(at + line.len(), text.len());
                    return Ok(Self { yaml: Span::new(start, at), body });
                }
                Some(_) => {}
            }
            at += line.len();
        }
        Err(if yaml.is_some() { FenceError::Close } else { FenceError::Start })
    }
}

#[cfg(test)]
mod tests {
    use super::{FenceError, FrontMatter};

    fn check(text: &str, expected: Result<(&str, &str), FenceError>) {
        let slice = |span: crate::source::Span| text.get(span.range()).unwrap();
        let found = FrontMatter::split(text).map(|parts| (slice(parts.yaml), slice(parts.body)));
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn splits_at_the_first_pair_of_fences() {
        check("---\na: 1\n---\nbody\n", Ok(("a: 1\n", "body\n")));
        check("---\n---\n", Ok(("", "")));
        check("---\n---", Ok(("", "")));
        check("--- \r\na: 1\r\n---\r\nb", Ok(("a: 1\r\n", "b")));
        check("\u{feff}--- \na---b\n---", Ok(("a---b\n", "")));
        check("---\n ---\n---\n---\n", Ok((" ---\n", "---\n")));
        check("---\u{a0}\n---\u{a0}\n", Ok(("", "")));
    }

    #[test]
    fn says_which_fence_is_missing() {
        for text in ["", "x", "\n---\n---\n", "# Title\n", "----\n", "\u{feff}", "--- a\n---\n"] {
            check(text, Err(FenceError::Start));
        }
        for text in ["---", "---\na: 1\n", "---\n----\n", "---\n ---\n---x\n"] {
            check(text, Err(FenceError::Close));
        }
    }
}
