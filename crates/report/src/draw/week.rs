//! A week of goals on one axis: a row for each, with a bar for each stretch of hours in which something is due or was done.

use std::fmt::Write as _;

use super::svg::escape;
use wf_base::units::fit;

/// The hours of a week.
pub const WEEK_HOURS: usize = 168;

/// The width of the names, and of an hour.
const NAMES: usize = 200;
const HOUR: usize = 5;
/// The heights of the axis and of a row.
const TOP: usize = 24;
const ROW: usize = 28;
/// The most characters of a name.
const NAME_CHARS: usize = 26;

/// A goal over a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeekRow {
    pub name: String,
    /// The address of its page.
    pub link: String,
    /// Its hours with slots, in order.
    pub marks: Vec<WeekMark>,
}

/// Hours in a row with the same state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeekMark {
    /// The first hour of the week.
    pub from: usize,
    /// The hour after the last one.
    pub until: usize,
    /// The word for the worst state of their slots.
    pub state: String,
    /// Their slots, in words.
    pub words: String,
}

/// Returns a week as an SVG picture for a page; nothing if there are no rows. `days` are the names of its days, `now` the
/// present hour, if it is one of the week. It has states and no style of its own.
pub fn week_svg(days: &[String], rows: &[WeekRow], now: Option<usize>) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let (width, height) = (NAMES + WEEK_HOURS * HOUR, TOP + rows.len() * ROW);
    let mut text = format!(
        "<svg class=\"week\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"The week of all goals\">\n"
    );
    for (at, day) in days.iter().enumerate() {
        let x = NAMES + at * 24 * HOUR;
        let _ = writeln!(
            text,
            "<path class=\"line\" d=\"M{x} 0V{height}\"/><text class=\"time\" x=\"{}\" y=\"16\">{}</text>",
            x + 4,
            escape(day)
        );
    }
    for (at, row) in rows.iter().enumerate() {
        text.push_str(&drawn_row(row, TOP + at * ROW));
    }
    if let Some(hour) = now {
        let x = NAMES + hour.min(WEEK_HOURS) * HOUR;
        let _ = writeln!(text, "<path class=\"now\" d=\"M{x} {TOP}V{height}\"><title>now</title></path>");
    }
    text.push_str("</svg>\n");
    Some(text)
}

fn drawn_row(row: &WeekRow, y: usize) -> String {
    let (base, name) = (y + 19, fit(&row.name, NAME_CHARS));
    let mut text = format!(
        "<a href=\"{}\"><text class=\"name\" x=\"0\" y=\"{base}\">{}<title>{}</title></text></a>\n",
        escape(&row.link),
        escape(&name),
        escape(&row.name)
    );
    for mark in &row.marks {
        let (x, width) = (NAMES + mark.from * HOUR, mark.until.saturating_sub(mark.from) * HOUR);
        let (bar, state) = (bar_height(&mark.state), escape(&mark.state));
        let _ = writeln!(
            text,
            "<rect data-state=\"{state}\" x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{bar}\"><title>{}</title></rect>",
            y + 24 - bar,
            width.saturating_sub(1).max(3),
            escape(&mark.words)
        );
    }
    text
}

/// Returns the height of a bar: what is bad is the highest.
fn bar_height(state: &str) -> usize {
    match state {
        "failed" | "missed" => 20,
        "unknown" | "blocked" | "waiting" => 16,
        "skipped" | "cancelled" | "uncomputed" | "unrecorded" => 4,
        _ => 10,
    }
}

#[cfg(test)]
mod tests {
    use super::{WeekMark, WeekRow, week_svg};

    #[test]
    fn hours_lie_on_one_axis_and_a_name_that_is_cut_is_whole_in_its_title() {
        let mark = |from, until, state: &str| WeekMark {
            from,
            until,
            state: state.into(),
            words: format!("{until} <b>"),
        };
        let row = WeekRow {
            name: "a goal whose name is very long".into(),
            link: "/goals/a".into(),
            marks: vec![mark(0, 1, "failed"), mark(24, 168, "planned")],
        };
        assert_eq!(week_svg(&[], &[], None), None);
        let svg = week_svg(&["Mon 23".into()], &[row], Some(12)).unwrap();
        assert!(
            svg.contains("<rect data-state=\"failed\" x=\"200\" y=\"28\" width=\"4\" height=\"20\">"),
            "{svg}"
        );
        assert!(svg.contains("<rect data-state=\"planned\" x=\"320\" y=\"38\" width=\"719\""), "{svg}");
        assert!(
            svg.contains("<title>a goal whose name is very long</title>") && svg.contains("M260 24V52"),
            "{svg}"
        );
        assert!(!svg.contains("<b>") && !svg.contains("style"), "{svg}");
    }
}
