use std::ops::Range;

use wf_base::source::{SourceText, Span, Spanned};

/// Returns the location of a part of a text in its file. If the text is not there letter by letter
/// (escapes, indented blocks), the part is searched for; the whole is the last resort.
pub fn part(source: &SourceText, text: &Spanned<String>, range: Range<usize>) -> Span {
    let written = source.slice(text.span);
    if written == text.value {
        return text.span.subspan(range);
    }
    let (Some(before), Some(wanted)) = (text.value.get(..range.start), text.value.get(range)) else {
        return text.span;
    };
    let earlier = before.matches(wanted).count();
    match written.match_indices(wanted).nth(earlier) {
        Some((at, _)) => text.span.subspan(at..at + wanted.len()),
        None => text.span,
    }
}

#[cfg(test)]
mod tests {
    use super::part;
    use wf_base::source::{SourceText, Span, Spanned};

    /// Searches `text`, which the file has as `written` between `before` and the end, for `wanted`.
    fn check(written: &str, text: &str, wanted: &str, expected: &str) {
        let before = "größer: ";
        let source = SourceText::new("plan.md", format!("{before}{written}"));
        let span = Span::new(before.len(), before.len() + written.len());
        let text = Spanned::new(text.to_owned(), span);
        let at = text.value.rfind(wanted).unwrap();
        let found = part(&source, &text, at..at + wanted.len());
        assert_eq!(source.slice(found), expected);
        assert_eq!(found.end as usize, before.len() + written.rfind(expected).unwrap() + expected.len());
    }

    #[test]
    fn parts_are_found_where_they_are_written() {
        check("a é b", "a é b", "b", "b");
        check("one {{x}}\n    two {{x}}", "one {{x}}\ntwo {{x}}\n", "{{x}}", "{{x}}");
        check("\"a\\tb\"", "a\tb", "a\tb", "\"a\\tb\"");
    }
}
