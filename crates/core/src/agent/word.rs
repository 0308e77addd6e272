/// True if a text has a word that is no part of a longer one.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}
