use std::{fmt::Write as _, time::Duration};

use super::{super::svg::escape, axis::TimeAxis, bars::row_bars};
use wf_base::{time::Moment, units::fit};

/// The width of the names left of the bars.
pub(super) const NAMES: f64 = 232.0;
/// The width of the words right of the bars.
pub(super) const WORDS: f64 = 120.0;
/// The width of the bars.
pub(super) const BARS: f64 = 760.0;
/// The height of a row.
pub(super) const ROW: f64 = 26.0;
/// The height of the axis above the rows, and of the space below them.
pub(super) const TOP: f64 = 28.0;
const BOTTOM: f64 = 8.0;
/// The most characters of a name, and of one that is set in.
const NAME_CHARS: usize = 30;

/// A run over time.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTimeline {
    /// The time it was recorded.
    pub begun: Moment,
    /// Its end; `None`: it goes on.
    pub ended: Option<Moment>,
    /// The time at which it is read.
    pub now: Moment,
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

/// Returns a run as an SVG picture; nothing if it has no rows. It has data attributes for the style sheet of a page, and
/// no style of its own.
pub fn timeline_svg(timeline: &RunTimeline) -> Option<String> {
    if timeline.rows.is_empty() {
        return None;
    }
    let axis = TimeAxis::of(timeline);
    let width = NAMES + BARS + WORDS;
    let height = TOP + BOTTOM + ROW * count(timeline.rows.len());
    let mut text = format!(
        "<svg class=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"Timeline\">\n{PATTERNS}"
    );
    text.push_str(&axis.svg(height));
    for (at, row) in timeline.rows.iter().enumerate() {
        text.push_str(&drawn_row(row, &axis, TOP + ROW * count(at)));
    }
    if timeline.ended.is_none() && axis.shows(timeline.now, Some(timeline.now)) {
        let x = axis.x(timeline.now);
        let _ = writeln!(
            text,
            "<line class=\"now\" x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{height}\"><title>now</title></line>"
        );
    }
    text.push_str("</svg>\n");
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

fn drawn_row(row: &TimelineRow, axis: &TimeAxis, top: f64) -> String {
    let inset = if row.is_part { 16.0 } else { 0.0 };
    let chars = if row.is_part { NAME_CHARS - 3 } else { NAME_CHARS };
    let (base, right) = (top + ROW * 0.66, NAMES + BARS + 10.0);
    let state = escape(&row.state);
    let mut text = format!(
        "<g class=\"row\" data-state=\"{state}\"><a href=\"{}\"><text class=\"name\" x=\"{inset}\" y=\"{base:.1}\">{}<title>{}</title></text>",
        escape(&row.link),
        escape(&fit(&row.name, chars)),
        escape(&row.name),
    );
    let (bottom, end) = (top + ROW, NAMES + BARS + WORDS);
    text.push_str(&row_bars(row, axis, top));
    let _ = writeln!(
        text,
        "<text class=\"word\" x=\"{right}\" y=\"{base:.1}\">{} {state}</text></a>\
         <line class=\"rule\" x1=\"0\" y1=\"{bottom}\" x2=\"{end}\" y2=\"{bottom}\"/></g>",
        glyph(&row.state)
    );
    text
}

/// Returns the shape that stands for a state beside its word.
fn glyph(state: &str) -> &'static str {
    match state {
        "verified" | "succeeded" => "✓",
        "reported" | "plausible" => "◐",
        "failed" | "refuted" | "abandoned" => "✕",
        "running" | "verifying" => "◌",
        "waiting" => "‖",
        "skipped" => "–",
        "cancelled" => "⊘",
        "" => "",
        _ => "○",
    }
}

/// A number of rows as a coordinate. There are few of them.
fn count(rows: usize) -> f64 {
    f64::from(u32::try_from(rows).unwrap_or(u32::MAX))
}

/// Returns a duration as a number of milliseconds.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
