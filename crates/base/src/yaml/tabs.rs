use super::YamlNotation;
use crate::source::Span;

/// Returns the first tab outside of quotes, blocks and comments. `scalars` are in the order of the
/// text.
pub(super) fn outside(text: &str, at: Span, scalars: &[(Span, YamlNotation)]) -> Option<Span> {
    let holder = |at: usize| {
        let after = scalars.partition_point(|(span, _)| span.start as usize <= at);
        let (span, form) = scalars.get(after.checked_sub(1)?)?;
        (at < span.end as usize).then_some(*form)
    };
    let mut in_comment = false;
    let mut before = b'\n';
    for (at, byte) in at.range().zip(text.get(at.range()).unwrap_or_default().bytes()) {
        match byte {
            b'\n' | b'\r' => in_comment = false,
            b'#' if b" \t\r\n".contains(&before) && holder(at).is_none() => in_comment = true,
            b'\t' if !in_comment && matches!(holder(at), None | Some(YamlNotation::Plain)) => {
                return Some(Span::new(at, at + 1));
            }
            _ => {}
        }
        before = byte;
    }
    None
}
