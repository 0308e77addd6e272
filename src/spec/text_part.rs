use std::ops::Range;

use crate::source::{Source, Span, Spanned};

/// Where a part of a text stands in its file. A text is not always in the file letter by letter
/// (escapes, indented blocks); then the part is looked for, and the whole is the last resort.
pub fn part(source: &Source, text: &Spanned<String>, range: Range<usize>) -> Span {
    let written = source.slice(text.span);
    if written == text.value {
        return text.span.part(range);
    }
    let (Some(before), Some(wanted)) = (text.value.get(..range.start), text.value.get(range))
    else {
        return text.span;
    };
    let earlier = before.matches(wanted).count();
    match written.match_indices(wanted).nth(earlier) {
        Some((at, _)) => text.span.part(at..at + wanted.len()),
        None => text.span,
    }
}
