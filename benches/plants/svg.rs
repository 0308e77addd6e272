//! The picture of the comparison: a line for each plant, a cell for each strategy, in it two bars.

use std::fmt::Write as _;

use super::{Row, Strategy};
use crate::plants::{ATTEMPTS, Score};

/// Where the cells begin, how far apart they are, and how wide a whole bar is.
const LEFT: f64 = 240.0;
const APART: f64 = 104.0;
const BAR: f64 = 58.0;
const TOP: f64 = 62.0;
const LINE: f64 = 36.0;

const STYLE: &str = "
text { font: 12px sans-serif; fill: #24292f }
.n { font-size: 10px }
.h { font-weight: 600 }
.b { fill: #8b949e; fill-opacity: .18 }
.v { fill: #1a7f6b }
.a { fill: #b35900 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.v { fill: #3fc1a5 }
.a { fill: #f0a050 }
}
";

/// Draws the picture.
pub fn drawn(rows: &[Row]) -> String {
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let width = LEFT + APART * count(Strategy::ALL.len());
    let height = TOP + LINE * count(rows.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>Runs verified and attempts used, by plant and strategy</title>\n\
         <style>{STYLE}</style>\n"
    );
    legend(&mut svg);
    for (at, strategy) in Strategy::ALL.iter().enumerate() {
        let x = LEFT + APART * count(at);
        let name = strategy.name();
        let _ = writeln!(svg, "<text class=\"h\" x=\"{x}\" y=\"50\">{name}</text>");
    }
    for (line, row) in rows.iter().enumerate() {
        let y = TOP + LINE * count(line);
        let (at, name) = (y + 15.0, row.plant.name());
        let _ = writeln!(svg, "<text x=\"4\" y=\"{at}\">{name}</text>");
        for (at, score) in row.scores.iter().enumerate() {
            cell(&mut svg, (LEFT + APART * count(at), y), score);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String) {
    let attempts = format!("mean attempts of a run, of {ATTEMPTS}");
    for (x, failure_class, text) in [(4.0, "v", "runs verified, of all"), (240.0, "a", &attempts)] {
        let _ = writeln!(
            svg,
            "<rect class=\"{failure_class}\" x=\"{x}\" y=\"8\" width=\"12\" height=\"12\"/>\
             <text x=\"{}\" y=\"18\">{text}</text>",
            x + 18.0
        );
    }
}

/// The part that was verified, and below it how many attempts that took.
fn cell(svg: &mut String, (x, y): (f64, f64), score: &Score) {
    let share = score.share();
    let used = score.mean_attempts();
    let bars = [("v", y + 4.0, 14.0, share), ("a", y + 20.0, 5.0, used / f64::from(ATTEMPTS))];
    for (failure_class, y, high, part) in bars {
        let wide = BAR * part;
        let _ = writeln!(
            svg,
            "<rect class=\"b\" x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{high}\"/>\
             <rect class=\"{failure_class}\" x=\"{x}\" y=\"{y}\" width=\"{wide:.1}\" height=\"{high}\"/>"
        );
    }
    let (x, at, below) = (x + BAR + 5.0, y + 15.0, y + 27.0);
    let percent = share * 100.0;
    let _ = writeln!(
        svg,
        "<text class=\"n\" x=\"{x}\" y=\"{at}\">{percent:.0} %</text>\
         <text class=\"n\" x=\"{x}\" y=\"{below}\">{used:.1}</text>"
    );
}
