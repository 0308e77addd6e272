use std::{fmt::Write as _, time::Duration};

use super::{super::svg::escape, axis::TimeAxis, bars::row_bars};
use wf_base::time::Moment;

/// The height of the bars of a row.
pub(super) const ROW: f64 = 26.0;
/// The height of the axis above the rows: the style sheet leaves room for it.
pub(super) const TOP: f64 = 28.0;

/// A run over time.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTimeline {
    /// The time it was recorded.
    pub begun: Moment,
    /// Its end; `None`: it goes on.
    pub ended: Option<Moment>,
    /// The time at which it is read.
    pub now: Moment,
    /// True if its time goes on: a process works on it, or people are asked.
    pub is_live: bool,
    /// The shown part of its time; `None`: all of it.
    pub range: Option<TimelineRange>,
    pub rows: Vec<TimelineRow>,
}

/// A part of the time of a run, counted from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineRange {
    pub from: Duration,
    pub to: Duration,
}

/// A step, or a part of one, over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimelineRow {
    pub name: String,
    /// The address of its page.
    pub link: String,
    /// The word for its state.
    pub state: String,
    /// True for an item, or for a run nested in a step.
    pub is_part: bool,
    /// True if it is on the chain that took longest.
    pub is_critical: bool,
    /// The start of its first bar; `None`: no time is recorded.
    pub started: Option<Moment>,
    pub bars: Vec<TimelineBar>,
    pub marks: Vec<CheckMark>,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineBar {
    pub kind: BarKind,
    pub from: Moment,
    /// Its end; `None`: it goes on.
    pub until: Option<Moment>,
    /// The word for how it ended.
    pub state: String,
    /// The name of what it stands for: `attempt 2`.
    pub text: String,
}

/// The kind of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarKind {
    Queued,
    Running,
    Verifying,
    /// It waits for people.
    Waiting,
    /// Several parts run.
    Parts,
}

impl BarKind {
    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Verifying => "verifying",
            Self::Waiting => "waiting for people",
            Self::Parts => "parts",
        }
    }
}

/// The end of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckMark {
    pub at: Moment,
    /// The word for its ruling.
    pub ruling: String,
    /// The name of its criterion.
    pub name: String,
}

/// Returns a run as a part of a page: a link for each row, with its bars as an SVG picture; nothing if it has no rows. Places
/// are shares of the width, so it fits on any screen. It has data attributes for the style sheet and the script of a page, and no
/// style of its own.
pub fn timeline_html(timeline: &RunTimeline) -> Option<String> {
    if timeline.rows.is_empty() {
        return None;
    }
    let axis = TimeAxis::of(timeline);
    let mut text = "<div class=\"timeline\"".to_owned();
    if timeline.is_live {
        let _ = write!(text, " data-length=\"{}\" data-now=\"{}\"", axis.length_ms(), axis.now_ms());
        text.push_str(if timeline.range.is_some() { " data-part" } else { "" });
    }
    let _ = write!(text, "><svg class=\"axis\" aria-hidden=\"true\">{PATTERNS}{}", axis.svg());
    if timeline.ended.is_none() && axis.shows(timeline.now, Some(timeline.now)) {
        let x = axis.end();
        let _ = writeln!(
            text,
            "<line class=\"now\" x1=\"{x:.2}%\" y1=\"{TOP}\" x2=\"{x:.2}%\" y2=\"100%\"><title>now</title></line>"
        );
    }
    text.push_str("</svg>\n");
    for row in &timeline.rows {
        text.push_str(&drawn_row(row, &axis));
    }
    text.push_str("</div>\n");
    Some(text)
}

/// The patterns of bars that are not solid.
const PATTERNS: &str = "\
<defs>\
<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 6L6 0\"/></pattern>\
<pattern id=\"stripe\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M1.5 0V6M4.5 0V6\"/></pattern>\
<pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><circle cx=\"3\" cy=\"3\" r=\"1.3\"/></pattern>\
</defs>
";

fn drawn_row(row: &TimelineRow, axis: &TimeAxis) -> String {
    let [link, name, state] = [&row.link, &row.name, &row.state].map(|text| escape(text));
    let part = if row.is_part { " part" } else { "" };
    format!(
        "<a href=\"{link}\" class=\"row{part}\" data-state=\"{state}\"><span class=\"name\" title=\"{name}\">{name}</span>\
         <svg class=\"spans\" aria-hidden=\"true\">{}</svg><span class=\"word\">{} {state}</span></a>\n",
        row_bars(row, axis),
        glyph(&row.state)
    )
}

/// Returns the shape that stands for a state beside its word.
fn glyph(state: &str) -> &'static str {
    match state {
        "verified" | "succeeded" => "✓",
        "reported" | "plausible" => "◐",
        "failed" | "refuted" | "abandoned" => "✕",
        "running" | "verifying" => "◌",
        "waiting" => "‖",
        "interrupted" => "⚡\u{fe0e}",
        "skipped" => "–",
        "cancelled" => "⊘",
        "" => "",
        _ => "○",
    }
}

/// Returns a duration as a number of milliseconds.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
