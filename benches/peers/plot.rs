//! The picture: what a step costs, over how many there are.

use std::fmt::Write as _;

use super::{
    report::{Outcome, Report},
    table::number,
};

const PROGRAMS: [&str; 4] = ["wf", "floor", "make", "ninja"];
const LEFT: f64 = 64.0;
const TOP: f64 = 52.0;
const WIDE: f64 = 480.0;
const HIGH: f64 = 260.0;

const STYLE: &str = "
text { font: 12px sans-serif; fill: #24292f }
.n { font-size: 10px }
.g { stroke: #8b949e; stroke-opacity: .35 }
.l { fill: none; stroke-width: 2 }
.c { stroke-dasharray: 5 4 }
.wf { stroke: #1a7f6b; fill: #1a7f6b }
.floor { stroke: #6e7781; fill: #6e7781 }
.make { stroke: #b35900; fill: #b35900 }
.ninja { stroke: #6639ba; fill: #6639ba }
path.l { fill: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.wf { stroke: #3fc1a5; fill: #3fc1a5 }
.floor { stroke: #9ea7b3; fill: #9ea7b3 }
.make { stroke: #f0a050; fill: #f0a050 }
.ninja { stroke: #b392f0; fill: #b392f0 }
}
";

/// How many steps, and what one of them costs.
type Point = (f64, f64);

/// The points of a program in the workloads with these names.
fn points(report: &Report, program: &str, loads: &[&str]) -> Vec<Point> {
    let outcomes = loads.iter().filter_map(|load| report.outcome(load));
    let point = |outcome: &Outcome| {
        let base = outcome.base();
        let row = if program == outcome.base {
            Some(&base).filter(|base| !base.pairs.is_empty())
        } else {
            outcome.row(program)
        };
        let wall = row?.own(|figures| figures.wall).median;
        let steps = f64::from(u32::try_from(outcome.steps).ok()?);
        Some((steps, outcome.micros(wall)))
    };
    outcomes.filter_map(point).collect()
}

/// Draws it, from the chains and the fans that were measured.
pub fn drawn(report: &Report) -> String {
    let lines: Vec<(&str, &str, Vec<Point>)> = PROGRAMS
        .iter()
        .flat_map(|program| {
            let fans = points(report, program, &["fan100", "fan1000", "fan10000"]);
            let chains = points(report, program, &["chain100", "chain1000"]);
            [(*program, "l", fans), (*program, "l c", chains)]
        })
        .collect();
    let costs = lines.iter().flat_map(|(_, _, points)| points);
    let most = costs.map(|(_, cost)| *cost).fold(1.0, f64::max);
    let unit = if most > 2000.0 { 1000.0 } else { 250.0 };
    let top = (most / unit).ceil() * unit;
    let (width, height) = (LEFT + WIDE + 24.0, TOP + HIGH + 46.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>Cost of a step over the number of steps</title>\n<style>{STYLE}</style>\n\
         <text x=\"4\" y=\"14\">µs per step of a whole run, two at once; solid: fans, \
         dashed: chains</text>\n"
    );
    grid(&mut svg, top, unit);
    for (at, program) in (0_u8..).zip(PROGRAMS) {
        let x = LEFT + 90.0 * f64::from(at);
        let _ = writeln!(
            svg,
            "<rect class=\"{program}\" x=\"{x}\" y=\"26\" width=\"12\" height=\"12\"/>\
             <text x=\"{}\" y=\"36\">{program}</text>",
            x + 18.0
        );
    }
    for (program, failure_class, points) in &lines {
        line(&mut svg, (program, failure_class), points, top);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where a point is drawn: each ten times as many steps are as far from each other.
fn place((steps, cost): Point, top: f64) -> Point {
    let x = LEFT + 20.0 + (WIDE - 40.0) * (steps.log10() - 2.0) / 2.0;
    (x, TOP + HIGH * (1.0 - cost / top))
}

fn grid(svg: &mut String, top: f64, unit: f64) {
    let mut cost = 0.0;
    while cost <= top {
        let (_, y) = place((100.0, cost), top);
        let _ = writeln!(
            svg,
            "<line class=\"g\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"n\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{cost}</text>",
            LEFT + WIDE,
            LEFT - 6.0,
            y + 4.0
        );
        cost += unit;
    }
    for (steps, name) in [(100.0, "100"), (1000.0, "1,000"), (10_000.0, "10,000 steps")] {
        let (x, y) = place((steps, 0.0), top);
        let _ =
            writeln!(svg, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>", y + 20.0);
    }
}

fn line(svg: &mut String, (program, failure_class): (&str, &str), points: &[Point], top: f64) {
    let mut path = String::new();
    for point in points {
        let (x, y) = place(*point, top);
        let to = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{to}{x:.1} {y:.1} ");
        let _ = writeln!(
            svg,
            "<circle class=\"{program}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\">\
             <title>{program}: {} µs</title></circle>",
            number(point.1)
        );
    }
    if points.len() > 1 {
        let path = path.trim_end();
        let _ = writeln!(svg, "<path class=\"{failure_class} {program}\" d=\"{path}\"/>");
    }
}
