//! The runs of a day as a strip: a column for each part of it, divided by outcome.

use std::fmt::Write as _;

/// The width of a column, and the space between two.
const COLUMN: usize = 7;
const GAP: usize = 1;
/// The height of the strip.
const HEIGHT: u64 = 48;

/// The runs that began in a part of a day, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StripColumn {
    pub succeeded: u64,
    pub failed: u64,
    /// The cancelled and the abandoned ones.
    pub cancelled: u64,
    /// The ones that go on.
    pub running: u64,
    /// The ones that wait for people.
    pub waiting: u64,
    /// The ones without an end on which no process works.
    pub interrupted: u64,
}

impl StripColumn {
    fn total(self) -> u64 {
        self.layers().iter().map(|(_, count)| count).sum()
    }

    /// Returns the numbers with the words of their states, from the bottom up: what failed lies at the bottom, where it
    /// is seen at once.
    fn layers(self) -> [(&'static str, u64); 6] {
        [
            ("failed", self.failed),
            ("interrupted", self.interrupted),
            ("waiting", self.waiting),
            ("cancelled", self.cancelled),
            ("running", self.running),
            ("succeeded", self.succeeded),
        ]
    }

    fn words(self) -> String {
        let counts = self.layers().into_iter().filter(|(_, count)| *count > 0);
        counts.map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the strip as an SVG picture for a page, with the names of its columns; nothing if no run began. It has states and
/// no style of its own. Each run that failed is at least a visible line, however many succeeded beside it.
pub fn day_strip(label: &str, columns: &[(String, StripColumn)]) -> Option<String> {
    let most = columns.iter().map(|(_, column)| column.total()).max().filter(|most| *most > 0)?;
    let width = columns.len() * (COLUMN + GAP);
    let mut text = format!(
        "<svg class=\"strip\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" \
         preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">\n"
    );
    for (at, (name, column)) in columns.iter().enumerate().filter(|(_, (_, column))| column.total() > 0) {
        let x = at * (COLUMN + GAP);
        let _ = write!(text, "<g><title>{name}: {}</title>", column.words());
        let mut bottom = HEIGHT;
        for (state, count) in column.layers().into_iter().filter(|(_, count)| *count > 0) {
            let height = (count * HEIGHT).div_euclid(most).max(3).min(bottom);
            bottom -= height;
            let _ = write!(
                text,
                "<rect data-state=\"{state}\" x=\"{x}\" y=\"{bottom}\" width=\"{COLUMN}\" height=\"{height}\"/>"
            );
        }
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{StripColumn, day_strip};

    #[test]
    fn a_failure_is_seen_beside_many_successes() {
        let busy = StripColumn { succeeded: 10_000, failed: 1, ..StripColumn::default() };
        let quiet = StripColumn { running: 1, ..StripColumn::default() };
        let columns = [
            ("09:00".to_owned(), busy),
            ("09:15".to_owned(), quiet),
            ("09:30".to_owned(), StripColumn::default()),
        ];
        let strip = day_strip("runs", &columns).unwrap();
        assert!(strip.contains("<title>09:00: 1 failed, 10000 succeeded</title>"), "{strip}");
        assert!(
            strip.contains("<rect data-state=\"failed\" x=\"0\" y=\"45\" width=\"7\" height=\"3\"/>"),
            "{strip}"
        );
        assert_eq!(strip.matches("<g>").count(), 2);
        let unended = StripColumn { running: 1, waiting: 2, interrupted: 3, ..StripColumn::default() };
        let strip = day_strip("runs", &[("09:00".to_owned(), unended)]).unwrap();
        assert!(strip.contains("<title>09:00: 3 interrupted, 2 waiting, 1 running</title>"), "{strip}");
        assert!(strip.contains("data-state=\"interrupted\"") && strip.contains("data-state=\"waiting\""));
    }

    #[test]
    fn a_day_without_runs_has_no_picture() {
        assert_eq!(day_strip("runs", &[]), None);
        assert_eq!(day_strip("runs", &[("09:00".to_owned(), StripColumn::default())]), None);
    }
}
