//! The rows of a timeline that are drawn, where there are too many of them to be read.
//!
//! What failed is drawn before all else, then what goes on, then the others in the order of their starts; what is left
//! out is counted by its states, so that nothing disappears.

use std::collections::BTreeMap;

use super::TimelineRow;

/// The most rows of a picture.
pub const MAX_TIMELINE_ROWS: usize = 200;

/// The rows to draw, and the number of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelineChoice {
    /// The rows, in the order of their starts.
    pub rows: Vec<TimelineRow>,
    /// The number of the others by the word for their state.
    pub others: BTreeMap<String, usize>,
}

impl TimelineChoice {
    /// Returns the others in words: `1,240 more: 1,238 succeeded, 2 skipped`; nothing if there are none.
    pub fn others_text(&self) -> Option<String> {
        let total: usize = self.others.values().sum();
        let parts: Vec<String> =
            self.others.iter().map(|(state, count)| format!("{} {state}", grouped(*count))).collect();
        (total > 0).then(|| format!("{} more: {}", grouped(total), parts.join(", ")))
    }
}

/// Chooses the rows of a picture. Rows without a start come last, in the order in which they are.
pub fn choose_rows(rows: Vec<TimelineRow>, limit: usize) -> TimelineChoice {
    let mut ranked: Vec<(usize, TimelineRow)> = rows.into_iter().enumerate().collect();
    let begins = |row: &TimelineRow| (row.started.is_none(), row.started);
    ranked.sort_by_key(|(at, row)| (rank(&row.state), begins(row), *at));
    let left_out = ranked.split_off(limit.min(ranked.len()));
    let mut others = BTreeMap::new();
    for (_, row) in left_out {
        *others.entry(row.state).or_insert(0) += 1;
    }
    ranked.sort_by_key(|(at, row)| (begins(row), *at));
    TimelineChoice { rows: ranked.into_iter().map(|(_, row)| row).collect(), others }
}

/// Returns the rank of a state: a lower one is drawn first.
fn rank(state: &str) -> u8 {
    match state {
        "failed" => 0,
        "running" | "verifying" | "waiting" | "interrupted" => 1,
        _ => 2,
    }
}

/// Returns a number with its digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
