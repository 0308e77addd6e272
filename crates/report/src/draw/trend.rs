//! The durations of the runs of a plan, and the shares of each week that succeeded, as pictures.

use std::{fmt::Write as _, time::Duration};

use super::svg::escape;
use wf_base::units::elapsed;

/// The space left of the dots, for the numbers of the axis.
const LEFT: usize = 64;
/// The distance between dots.
const STEP: usize = 8;
/// The height within the axes, and the space above and below.
const HEIGHT: usize = 120;
const TOP: usize = 12;
/// The width of a week.
const WEEK: usize = 56;

/// A run as a trend shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrendDot {
    /// The word for its state.
    pub state: String,
    pub duration: Duration,
    /// The words for it.
    pub words: String,
    /// The address of its page.
    pub link: String,
}

/// The runs of a week by what became of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrendWeek {
    /// The name of its Monday.
    pub name: String,
    pub succeeded: u64,
    /// The number of those that ended, without the cancelled ones.
    pub ended: u64,
}

/// Returns the durations of runs, oldest first, as an SVG picture for a page, with a line at their median; nothing if there
/// are none. What became of a run is a shape of its own. It has states and no style of its own.
pub fn trend_svg(dots: &[TrendDot], median: Option<Duration>) -> Option<String> {
    let longest = dots.iter().map(|dot| dot.duration).max()?.max(Duration::from_millis(1));
    let (width, height) = (LEFT + (dots.len() * STEP).max(160), TOP * 2 + HEIGHT);
    let y = |duration: Duration| {
        let share = duration.as_millis().saturating_mul(HEIGHT as u128) / longest.as_millis().max(1);
        TOP + HEIGHT - usize::try_from(share).unwrap_or(HEIGHT).min(HEIGHT)
    };
    let mut text = format!(
        "<svg class=\"trend\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"The durations of the last {} runs\">\n",
        dots.len()
    );
    for value in [Duration::ZERO, longest / 2, longest] {
        let (at, words) = (y(value), elapsed(value));
        let _ = writeln!(
            text,
            "<path class=\"line\" d=\"M{LEFT} {at}H{width}\"/><text x=\"0\" y=\"{}\">{words}</text>",
            at + 4
        );
    }
    if let Some(median) = median {
        let at = y(median);
        let _ = writeln!(
            text,
            "<path class=\"median\" d=\"M{LEFT} {at}H{width}\"><title>median {}</title></path>",
            elapsed(median)
        );
    }
    for (at, dot) in dots.iter().enumerate() {
        let shape = shape(&dot.state, LEFT + at * STEP + STEP / 2, y(dot.duration));
        let (link, state, words) = (escape(&dot.link), escape(&dot.state), escape(&dot.words));
        let _ = writeln!(
            text,
            "<a href=\"{link}\" aria-label=\"{words}\"><g data-state=\"{state}\"><title>{words}</title>{shape}</g></a>"
        );
    }
    text.push_str("</svg>\n");
    Some(text)
}

/// Returns the shape of a run: a dot, a cross if it failed, a ring if it has not ended, a dash if it was cancelled.
fn shape(state: &str, x: usize, y: usize) -> String {
    match state {
        "failed" | "abandoned" => {
            format!("<path d=\"M{} {}l6 6m0 -6l-6 6\"/>", x.saturating_sub(3), y.saturating_sub(3))
        }
        "cancelled" => format!("<path d=\"M{} {y}h6\"/>", x.saturating_sub(3)),
        "succeeded" => format!("<circle class=\"full\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>"),
        _ => format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3\"/>"),
    }
}

/// Returns the shares of runs that succeeded, week by week, as an SVG picture for a page; nothing if none ended. A week
/// without runs has no bar, and one without a success a line at the bottom.
pub fn rate_svg(weeks: &[TrendWeek]) -> Option<String> {
    if weeks.iter().all(|week| week.ended == 0) {
        return None;
    }
    let (width, height) = (weeks.len() * WEEK, HEIGHT / 2 + TOP * 2 + 8);
    let mut text = format!(
        "<svg class=\"rates\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"The share of runs that succeeded, by week\">\n"
    );
    let bottom = TOP + HEIGHT / 2;
    for (at, week) in weeks.iter().enumerate() {
        let x = at * WEEK;
        let name = escape(&week.name);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\">{name}</text>", x + 4, height - 4);
        let Some(percent) = (week.succeeded * 100).checked_div(week.ended) else {
            continue;
        };
        let bar = usize::try_from(percent).unwrap_or(100).min(100) * (HEIGHT / 2) / 100;
        let _ = writeln!(
            text,
            "<g><title>{name}: {} of {} succeeded</title><rect class=\"all\" x=\"{}\" y=\"{TOP}\" width=\"40\" height=\"{}\"/>\
             <rect class=\"good\" x=\"{}\" y=\"{}\" width=\"40\" height=\"{}\"/></g>",
            week.succeeded,
            week.ended,
            x + 4,
            HEIGHT / 2,
            x + 4,
            bottom - bar.max(1),
            bar.max(1)
        );
    }
    text.push_str("</svg>\n");
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{TrendDot, TrendWeek, rate_svg, trend_svg};

    fn dot(state: &str, seconds: u64) -> TrendDot {
        let words = format!("{state} <b>");
        TrendDot {
            state: state.into(),
            duration: Duration::from_secs(seconds),
            words,
            link: "/runs/a\"".into(),
        }
    }

    #[test]
    fn a_run_is_as_high_as_it_was_long_and_its_outcome_has_a_shape() {
        let dots = [dot("succeeded", 10), dot("failed", 5), dot("cancelled", 0), dot("running", 10)];
        let svg = trend_svg(&dots, Some(Duration::from_secs(5))).unwrap();
        assert!(svg.contains("<circle class=\"full\" cx=\"68\" cy=\"12\" r=\"3\"/>"), "{svg}");
        assert!(svg.contains("<path d=\"M73 69l6 6m0 -6l-6 6\"/>"), "{svg}");
        assert!(
            svg.contains("<path d=\"M81 132h6\"/>") && svg.contains("<circle cx=\"92\" cy=\"12\""),
            "{svg}"
        );
        assert!(svg.contains("class=\"median\" d=\"M64 72H224\"") && svg.contains("median 5.0s"), "{svg}");
        assert!(
            svg.contains("href=\"/runs/a&quot;\"") && !svg.contains("<b>") && !svg.contains("style"),
            "{svg}"
        );
        assert_eq!(trend_svg(&[], None), None);
    }

    #[test]
    fn a_week_without_a_success_is_seen_and_one_without_runs_has_no_bar() {
        let week = |name: &str, succeeded, ended| TrendWeek { name: name.into(), succeeded, ended };
        let svg = rate_svg(&[week("11-09", 1, 4), week("11-16", 0, 0), week("11-23", 0, 2)]).unwrap();
        assert!(svg.contains("<title>11-09: 1 of 4 succeeded</title>"), "{svg}");
        assert!(svg.contains("class=\"good\" x=\"4\" y=\"57\" width=\"40\" height=\"15\""), "{svg}");
        assert!(svg.contains("class=\"good\" x=\"116\" y=\"71\" width=\"40\" height=\"1\""), "{svg}");
        assert_eq!(svg.matches("class=\"good\"").count(), 2, "{svg}");
        assert_eq!(rate_svg(&[week("11-16", 0, 0)]), None);
    }
}
