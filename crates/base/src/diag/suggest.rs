/// Returns the candidate nearest to `word`, if it is near enough to be what was meant.
pub fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    among
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_words_are_suggested() {
        let words = ["depends_on", "retry", "run"];
        assert_eq!(nearest("depend_on", words), Some("depends_on"));
        assert_eq!(nearest("rn", words), Some("run"));
        assert_eq!(nearest("frobnicate", words), None);
    }
}
