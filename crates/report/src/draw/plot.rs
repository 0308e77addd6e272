use std::fmt::Write as _;

use wf_core::machine::Round;

/// The height of the plot within its axes.
const HEIGHT: f64 = 160.0;
/// The space left of the axis, for its numbers, and above and below.
const LEFT: f64 = 40.0;
const TOP: f64 = 16.0;
/// The distance between rounds: the longest word of a directive fits below one.
const STEP: f64 = 116.0;
/// The height of the lines below the axis: the number of the round, and its directive.
const LEGEND: f64 = 64.0;
/// The radius of a point.
const RADIUS: f64 = 3.0;
/// The narrowest plot, so the words of a single round have their place.
const MIN_WIDTH: f64 = 320.0;
/// The most rounds in one plot: the latest ones. The table has all of them.
const MAX_ROUNDS: usize = 200;

/// A curve: its name, and the measure that it shows.
type PlotCurve = (&'static str, &'static str, fn(&Round) -> f64);

/// The curves, each with the class of its line.
const CURVES: [PlotCurve; 4] = [
    ("L", "loss", |round| round.solved.loss.l),
    ("D", "distance", |round| round.solved.loss.d),
    ("P", "process", |round| round.solved.loss.p),
    ("Ω", "resource", |round| round.solved.loss.omega),
];

/// The rounds of a run as an SVG picture for a page: the loss L and its parts D, P and Ω, with the directive of each
/// round below it; nothing if there are none. It has classes and no style of its own. Its text is what the table of rounds says.
pub fn rounds_plot(rounds: &[Round]) -> Option<String> {
    let rounds = rounds.get(rounds.len().saturating_sub(MAX_ROUNDS)..).unwrap_or(rounds);
    let last = rounds.len().checked_sub(1)?;
    let most = rounds.iter().flat_map(|round| CURVES.map(|(.., of)| of(round))).fold(1.0, f64::max);
    let x = |at: usize| LEFT + STEP / 2.0 + STEP * count(at);
    let y = |value: f64| TOP + HEIGHT * (1.0 - (value / most).clamp(0.0, 1.0));
    let width = (x(last) + STEP / 2.0).max(MIN_WIDTH);
    let height = TOP + HEIGHT + LEGEND;
    let mut text = format!(
        "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"L, D, P and Ω of {} rounds\">\n",
        rounds.len()
    );
    for value in [0.0, most / 2.0, most] {
        let at = y(value);
        let base = at + 4.0;
        let _ = writeln!(
            text,
            "<line class=\"rule\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{width}\" y2=\"{at:.1}\"/>\
             <text x=\"0\" y=\"{base:.1}\">{value:.2}</text>"
        );
    }
    for (name, class, of) in CURVES {
        text.push_str(&curve(class, rounds.iter().enumerate().map(|(at, round)| (x(at), y(of(round))))));
        for (at, round) in rounds.iter().enumerate() {
            let _ = writeln!(
                text,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{RADIUS}\"><title>round {}: {name} {:.2}</title></circle>",
                x(at),
                y(of(round)),
                round.round,
                of(round)
            );
        }
    }
    text.push_str(&legend(rounds, x));
    text.push_str("</svg>\n");
    Some(text)
}

/// A line through points.
fn curve(class: &str, points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    format!("<polyline class=\"{class}\" points=\"{}\"/>\n", points.join(" "))
}

/// The words below the plot: the numbers and directives of the rounds, and the names of the curves.
fn legend(rounds: &[Round], x: impl Fn(usize) -> f64) -> String {
    let mut text = String::new();
    let [numbers, directives, names] = [18.0, 36.0, 58.0].map(|below| TOP + HEIGHT + below);
    for (at, round) in rounds.iter().enumerate() {
        let (middle, directive) = (x(at), round.solved.directive.as_str());
        let _ = writeln!(
            text,
            "<text x=\"{middle:.1}\" y=\"{numbers}\" text-anchor=\"middle\">{}</text>\
             <text class=\"directive\" x=\"{middle:.1}\" y=\"{directives}\" text-anchor=\"middle\">{directive}</text>",
            round.round
        );
    }
    for (at, (name, class, _)) in CURVES.iter().enumerate() {
        let _ = writeln!(
            text,
            "<text class=\"{class}\" x=\"{}\" y=\"{names}\">{name}</text>",
            LEFT + STEP / 2.0 * count(at)
        );
    }
    text
}

/// A number of rounds as a coordinate. There are few of them.
fn count(rounds: usize) -> f64 {
    f64::from(u32::try_from(rounds).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::{MAX_ROUNDS, rounds_plot};
    use crate::moves::tests::round;

    #[test]
    fn no_rounds_have_no_plot() {
        assert_eq!(rounds_plot(&[]), None);
    }

    #[test]
    fn each_round_has_a_point_on_each_curve_and_its_directive() {
        let rounds: Vec<_> = [0.0, 0.5, 1.0].map(|omega| round(omega, None)).into();
        let plot = rounds_plot(&rounds).unwrap();
        assert_eq!(plot.matches("<circle ").count(), 12, "{plot}");
        assert_eq!(plot.matches("<polyline ").count(), 4, "{plot}");
        assert_eq!(plot.matches("class=\"directive\"").count(), 3, "{plot}");
        // Ω of 0, a half and 1: the bottom, the middle and the top.
        assert!(
            plot.contains("<polyline class=\"resource\" points=\"98.0,176.0 214.0,96.0 330.0,16.0\"/>"),
            "{plot}"
        );
        assert!(!plot.contains("style"), "a page permits no style within: {plot}");
    }

    #[test]
    fn losses_above_one_stay_in_the_plot() {
        let mut heavy = round(0.5, None);
        heavy.solved.loss.l = 4.0;
        let plot = rounds_plot(&[heavy]).unwrap();
        assert!(plot.contains("<polyline class=\"loss\" points=\"98.0,16.0\"/>"), "{plot}");
        assert!(plot.contains(">4.00</text>"), "{plot}");
    }

    #[test]
    fn a_long_run_shows_its_latest_rounds() {
        let rounds: Vec<_> = (0..MAX_ROUNDS + 50).map(|_| round(0.1, None)).collect();
        let plot = rounds_plot(&rounds).unwrap();
        assert_eq!(plot.matches("class=\"directive\"").count(), MAX_ROUNDS);
    }
}
