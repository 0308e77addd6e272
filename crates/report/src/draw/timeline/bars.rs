//! The bars of a row, and the marks of its checks.
//!
//! A bar ends where the record says. One that has no end yet reaches to now, and one that a clock turned
//! back would end before it begins is as narrow as one that took no time.

use std::fmt::Write as _;

use super::{
    super::svg::escape,
    axis::TimeAxis,
    picture::{BarKind, CheckMark, ROW, TimelineBar, TimelineRow},
};
use wf_base::units::{elapsed, moment};

/// The narrowest bar, in percent: one that took no time is seen, too.
const MIN_WIDTH: f64 = 0.25;
/// The space above and below a bar.
const SPACE: f64 = 5.0;
/// The widest bar without a place for a cross, in percent.
const CROSS: f64 = 1.6;

/// Returns the bars of a row, from the first to the last, and its marks above them.
pub(super) fn row_bars(row: &TimelineRow, axis: &TimeAxis) -> String {
    let mut text = String::new();
    let shown: Vec<&TimelineBar> = row.bars.iter().filter(|bar| axis.shows(bar.from, bar.until)).collect();
    for bar in &shown {
        text.push_str(&drawn_bar(row, bar, axis));
    }
    if let (true, Some(first)) = (row.is_critical, shown.iter().map(|bar| bar.from).min()) {
        let end = shown.iter().map(|bar| bar_end(bar, axis)).fold(axis.x(first) + MIN_WIDTH, f64::max);
        let (from, y) = (axis.x(first), ROW - SPACE / 2.0);
        let open = if shown.iter().any(|bar| bar.until.is_none()) { " data-open" } else { "" };
        let _ = write!(
            text,
            "<line class=\"critical\"{open} x1=\"{from:.2}%\" y1=\"{y:.1}\" x2=\"{end:.2}%\" y2=\"{y:.1}\"><title>on the chain of steps that took longest</title></line>"
        );
    }
    for mark in row.marks.iter().filter(|mark| axis.shows(mark.at, Some(mark.at))) {
        text.push_str(&drawn_mark(mark, axis));
    }
    text
}

/// Returns the place where a bar ends.
fn bar_end(bar: &TimelineBar, axis: &TimeAxis) -> f64 {
    bar.until.map_or_else(|| axis.end(), |until| axis.x(until.max(bar.from)))
}

fn drawn_bar(row: &TimelineRow, bar: &TimelineBar, axis: &TimeAxis) -> String {
    let x = axis.x(bar.from);
    let width = (bar_end(bar, axis) - x).max(MIN_WIDTH);
    let (y, height) = match bar.kind {
        BarKind::Parts => (ROW / 2.0 - 3.0, 6.0),
        _ => (SPACE, ROW - 2.0 * SPACE),
    };
    let kind = bar.kind.as_str().split(' ').next().unwrap_or_default();
    let state = escape(&bar.state);
    let fill = match bar.kind {
        BarKind::Queued => " fill=\"url(#hatch)\"",
        BarKind::Verifying => " fill=\"url(#stripe)\"",
        BarKind::Waiting => " fill=\"url(#dots)\"",
        BarKind::Running | BarKind::Parts => "",
    };
    let open = if bar.until.is_none() { " data-open" } else { "" };
    let title = escape(&bar_words(row, bar));
    let mut text = format!(
        "<g class=\"bar\" data-bar=\"{kind}\" data-state=\"{state}\"><title>{title}</title>\
         <rect{open} x=\"{x:.2}%\" y=\"{y:.1}\" width=\"{width:.2}%\" height=\"{height:.1}\" rx=\"2\"{fill}/>"
    );
    if bar.state == "failed" && bar.kind == BarKind::Running && width > CROSS {
        let end = x + width;
        let _ = write!(
            text,
            "<svg x=\"{end:.2}%\"><path class=\"cross\" d=\"M-10 10L-4 16M-4 10L-10 16\"/></svg>"
        );
    }
    text.push_str("</g>");
    text
}

/// Returns what a bar says where somebody points at it.
fn bar_words(row: &TimelineRow, bar: &TimelineBar) -> String {
    let mut words = format!("{}: ", row.name);
    if !bar.text.is_empty() {
        let _ = write!(words, "{}, ", bar.text);
    }
    let kind = bar.kind.as_str();
    let _ = match bar.until {
        Some(until) => {
            write!(
                words,
                "{kind} for {} from {} to {} UTC",
                elapsed(until.since(bar.from)),
                moment(bar.from),
                moment(until)
            )
        }
        None => write!(words, "{kind} since {} UTC", moment(bar.from)),
    };
    if bar.state != kind && !bar.state.is_empty() {
        let _ = write!(words, ", {}", bar.state);
    }
    words
}

/// Returns the mark of a check: a triangle that points up for a pass, a cross for a failure.
fn drawn_mark(mark: &CheckMark, axis: &TimeAxis) -> String {
    let x = axis.x(mark.at);
    let shape = if mark.ruling == "pass" { "M-4 12L0 5L4 12z" } else { "M-4 5L4 12M4 5L-4 12" };
    format!(
        "<svg x=\"{x:.2}%\"><path class=\"check\" data-state=\"{0}\" d=\"{shape}\"><title>check {1}: {0}, {2} UTC</title></path></svg>",
        escape(&mark.ruling),
        escape(&mark.name),
        moment(mark.at)
    )
}
