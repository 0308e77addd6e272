use regex::Regex;

use super::words::rows;
use crate::inspect::Rule;

/// The parts of patterns with a name.
const FRAGMENTS: &str = include_str!("patterns/fragments.txt");

/// A row of a [`PatternTable`] that occurs in a text.
pub(in crate::inspect) struct PatternHit<'t> {
    /// The broken rule.
    pub(in crate::inspect) rule: Rule,
    pub(in crate::inspect) reason: &'static str,
    /// The occurrence of each pattern.
    pub(in crate::inspect) seen: Vec<regex::Match<'t>>,
}

/// Patterns of harmful texts.
pub(in crate::inspect) struct PatternTable(Vec<PatternRow>);

struct PatternRow {
    rule: Rule,
    reason: &'static str,
    patterns: Vec<Regex>,
}

impl PatternTable {
    /// Reads a table: a line with a rule and a reason, and below it, indented, the patterns. `flags`
    /// apply to all of them.
    pub(in crate::inspect) fn from_table(text: &'static str, flags: &str) -> Self {
        let mut table: Vec<PatternRow> = Vec::new();
        for line in rows(text) {
            if let (Some(written), Some(row)) = (line.strip_prefix("    "), table.last_mut()) {
                row.patterns.extend(pattern(&format!("{flags}{written}")));
            } else if let Some((code, reason)) = line.split_once(": ")
                && let Some(rule) = Rule::of(code)
            {
                table.push(PatternRow { rule, reason, patterns: Vec::new() });
            }
        }
        Self(table)
    }

    /// Returns every occurrence of the first pattern of each row.
    pub(in crate::inspect) fn every<'t>(&self, text: &'t str) -> impl Iterator<Item = PatternHit<'t>> {
        let rows = self.0.iter().filter_map(|row| row.patterns.first().map(|first| (row, first)));
        rows.flat_map(move |(row, first)| {
            let hit = |first_hit| PatternHit { rule: row.rule, reason: row.reason, seen: vec![first_hit] };
            first.find_iter(text).map(hit)
        })
    }

    /// Returns the rows of which all patterns occur.
    pub(in crate::inspect) fn complete<'t>(&self, text: &'t str) -> impl Iterator<Item = PatternHit<'t>> {
        self.0.iter().filter_map(move |row| {
            let found_hits: Option<Vec<_>> = row.patterns.iter().map(|regex| regex.find(text)).collect();
            let hits_of_all = found_hits.filter(|hits| !hits.is_empty())?;
            Some(PatternHit { rule: row.rule, reason: row.reason, seen: hits_of_all })
        })
    }
}

/// Compiles a pattern, where a name in braces stands for a fragment.
pub(in crate::inspect) fn pattern(written: &str) -> Option<Regex> {
    let mut whole = written.to_owned();
    // A fragment may contain another one that comes before it in the table.
    for (name, fragment) in rows(FRAGMENTS).filter_map(|row| row.split_once(" = ")) {
        whole = whole.replace(&format!("{{{name}}}"), fragment);
    }
    Regex::new(&whole).ok()
}

#[cfg(test)]
mod tests {
    use super::{FRAGMENTS, PatternTable, pattern, rows};

    #[test]
    fn every_row_of_the_tables_is_a_rule_with_patterns() {
        for text in [
            include_str!("patterns/commands.txt"),
            include_str!("patterns/instructions.txt"),
            include_str!("patterns/leaks.txt"),
        ] {
            let PatternTable(read) = PatternTable::from_table(text, "(?im)");
            let (patterns, rules): (Vec<&str>, Vec<&str>) =
                rows(text).partition(|row| row.starts_with("    "));
            assert_eq!(read.len(), rules.len());
            assert_eq!(read.iter().map(|row| row.patterns.len()).sum::<usize>(), patterns.len());
            assert!(read.iter().all(|row| !row.patterns.is_empty() && !row.reason.is_empty()));
        }
        for (name, _) in rows(FRAGMENTS).map(|row| row.split_once(" = ").unwrap()) {
            assert!(pattern(&format!("{{{name}}}")).is_some(), "{name}");
        }
    }
}
