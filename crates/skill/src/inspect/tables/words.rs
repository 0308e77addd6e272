use std::{collections::BTreeSet, sync::OnceLock};

/// A list of words a rule looks for.
pub(in crate::inspect) struct WordList {
    text: &'static str,
    words: OnceLock<BTreeSet<&'static str>>,
}

impl WordList {
    /// Makes a list from the text of a table.
    pub(in crate::inspect) const fn from_table(text: &'static str) -> Self {
        Self { text, words: OnceLock::new() }
    }

    /// Returns the words, in the order of the table.
    pub(in crate::inspect) fn iter(&self) -> impl Iterator<Item = &'static str> {
        rows(self.text).flat_map(str::split_whitespace)
    }

    pub(in crate::inspect) fn contains(&self, word: &str) -> bool {
        self.words.get_or_init(|| self.iter().collect()).contains(word)
    }
}

/// Returns the lines of a table that are no comments.
pub(super) fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the rows of a table with two columns.
pub(in crate::inspect) fn pairs(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let columns = rows(text).filter_map(|row| row.split_once('|'));
    columns.map(|(first, second)| (first.trim(), second.trim()))
}
