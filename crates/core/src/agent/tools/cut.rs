/// The maximum number of characters of a result.
pub const RESULT_CHARS: usize = 16_000;

/// The room for the marker: it has at most 20 digits.
const MARKER_CHARS: usize = 64;

/// The number of characters kept at each end of a text cut.
const END_CHARS: usize = (RESULT_CHARS - MARKER_CHARS) / 2;

/// Cuts a text out of its middle, so at most [`RESULT_CHARS`] characters are left, with a marker of how many
/// were cut.
pub fn cut_result(text: &str) -> String {
    // A character has at least one byte.
    if text.len() <= RESULT_CHARS {
        return text.to_owned();
    }
    let count = text.chars().count();
    if count <= RESULT_CHARS {
        return text.to_owned();
    }
    let cut = count - 2 * END_CHARS;
    format!("{}\n[… {cut} characters cut …]\n{}", first(text), last(text))
}

/// Joins the beginning and the end of an output of which the middle was not kept; `bytes` is its whole size.
pub fn cut_ends(head: &str, tail: &str, bytes: u64) -> String {
    let (head, tail) = (first(head), last(tail));
    let kept = u64::try_from(head.len() + tail.len()).unwrap_or(u64::MAX);
    format!("{head}\n[… {} bytes cut …]\n{tail}", bytes.saturating_sub(kept))
}

fn first(text: &str) -> &str {
    let end = text.char_indices().nth(END_CHARS).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn last(text: &str) -> &str {
    let begin = text.char_indices().rev().nth(END_CHARS - 1).map_or(0, |(at, _)| at);
    text.get(begin..).unwrap_or(text)
}
