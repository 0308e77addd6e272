//! The tables of the comparison.

use super::{Row, Strategy};
use crate::plants::Score;

/// One table: a line for each plant, a column for each strategy.
pub struct Table {
    title: &'static str,
    lines: Vec<Vec<String>>,
}

/// All tables.
pub fn all(rows: &[Row]) -> Vec<Table> {
    let of = |title, cell: &dyn Fn(&Score) -> String| {
        let line = |row: &Row| {
            let name = std::iter::once(row.plant.name().to_owned());
            name.chain(row.scores.iter().map(cell)).collect()
        };
        Table { title, lines: rows.iter().map(line).collect() }
    };
    vec![
        of("verified, percent of the runs", &|score| format!("{:.1}", score.share() * 100.0)),
        of("attempts to verified: median, 90th percentile", &|score| match (
            score.attempts(0.5),
            score.attempts(0.9),
        ) {
            (Some(half), Some(most)) => format!("{half}, {most}"),
            _ => "–".into(),
        }),
        of("seconds to verified: median, 90th percentile", &|score| match (
            score.seconds(0.5),
            score.seconds(0.9),
        ) {
            (Some(half), Some(most)) => format!("{half:.0}, {most:.0}"),
            _ => "–".into(),
        }),
        of(
            "in vain: mean attempts and seconds of a run that was not verified",
            &|score| match score.vain() {
                Some((attempts, seconds)) => format!("{attempts:.1}, {seconds:.0} s"),
                None => "–".into(),
            },
        ),
    ]
}

impl Table {
    /// The table for a terminal, or as Markdown.
    pub fn told(&self, markdown: bool) -> String {
        let names = Strategy::ALL.iter().map(|strategy| strategy.name().into());
        let head: Vec<String> = std::iter::once("plant".to_owned()).chain(names).collect();
        if markdown {
            let marks = "|--:".repeat(Strategy::ALL.len());
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            let lines: String = self.lines.iter().map(|cells| line(cells)).collect();
            return format!("{}:\n\n{}|---{marks}|\n{lines}", self.title, line(&head));
        }
        let line = |cells: &[String]| {
            let cells = cells.iter().enumerate();
            let cells = cells.map(|(at, cell)| match at {
                0 => format!("{cell:<32}"),
                _ => format!("{cell:>14}"),
            });
            format!("{}\n", cells.collect::<String>())
        };
        let lines: String = self.lines.iter().map(|cells| line(cells)).collect();
        format!("{}\n{}{lines}", self.title, line(&head))
    }
}
