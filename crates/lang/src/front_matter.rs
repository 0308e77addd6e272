use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;

/// The locations of the two parts of a spec file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecFileParts {
    /// The YAML between the `---` lines.
    pub yaml: Span,
    /// The Markdown after them.
    pub body: Span,
}

/// Splits a file at its `---` lines. A byte-order mark before the first is skipped.
pub fn split(text: &str) -> Result<SpecFileParts, Box<Diagnostic>> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut at = start;
    let mut lines = text.get(start..).unwrap_or("").split_inclusive('\n');
    let first = lines.next().unwrap_or("");
    if !is_fence(first) {
        let shown = first.trim_end().chars().take(40).map(char::len_utf8).sum();
        let message = "the file does not start with a `---` line";
        let mistake =
            Diagnostic::new(Code::FrontMatterMissing, Span::new(start, start).subspan(0..shown), message);
        let help = "start with `---`, then the YAML, then `---`, then the Markdown";
        return Err(Box::new(mistake.with_help(help)));
    }
    at += first.len();
    let yaml = at;
    for line in lines {
        if is_fence(line) {
            return Ok(SpecFileParts {
                yaml: Span::new(yaml, at),
                body: Span::new(at + line.len(), text.len()),
            });
        }
        at += line.len();
    }
    let opening = Span::new(start, start).subspan(0..3);
    let message = "the front matter that starts here has no closing `---` line";
    let mistake = Diagnostic::new(Code::FrontMatterOpen, opening, message);
    Err(Box::new(mistake.with_help("close it with a `---` line")))
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim_end().is_empty())
}

#[cfg(test)]
mod tests {
    use super::split;
    use wf_base::diag::Code;

    fn check(text: &str, expected: Result<(&str, &str), Code>) {
        let found = split(text).map_err(|mistake| mistake.code);
        let found = found.map(|parts| {
            let slice = |span: wf_base::source::Span| text.get(span.range()).unwrap();
            (slice(parts.yaml), slice(parts.body))
        });
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn splits_at_the_first_pair_of_fences() {
        check("---\na: 1\n---\nbody\n", Ok(("a: 1\n", "body\n")));
        check("---\n---\n", Ok(("", "")));
        check("---\n---", Ok(("", "")));
        check("--- \r\na: 1\r\n---\r\nb", Ok(("a: 1\r\n", "b")));
        check("\u{feff}---\na: 1\n---\n", Ok(("a: 1\n", "")));
        check("---\n ---\n---\n---\n", Ok((" ---\n", "---\n")));
    }

    #[test]
    fn says_which_fence_is_missing() {
        for text in ["", "\n---\n---\n", "# Title\n", "----\n", "\u{feff}"] {
            check(text, Err(Code::FrontMatterMissing));
        }
        for text in ["---", "---\na: 1\n", "---\n----\n"] {
            check(text, Err(Code::FrontMatterOpen));
        }
    }
}
