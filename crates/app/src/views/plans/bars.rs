//! The last runs of a plan as a picture: a bar for each, as high as the run was long. A run that failed hangs below the
//! line, so that the picture says it without its colours.

use std::{fmt::Write as _, time::Duration};

use wf_base::units::elapsed;

/// The width of a bar with its gap, and the height of each half of the picture.
const STEP: usize = 7;
const HALF: usize = 16;

/// The width of a bar, and the least height of one.
const BAR: usize = 5;
const LEAST: usize = 3;

/// A run as a bar shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunBar {
    /// The word for its state.
    pub state: &'static str,
    pub duration: Duration,
}

/// Draws runs, oldest first; `None` if there are none.
pub(super) fn bars_svg(run_bars: &[RunBar]) -> Option<String> {
    let longest = run_bars.iter().map(|bar| bar.duration).max()?.max(Duration::from_millis(1));
    let words: Vec<String> =
        run_bars.iter().map(|bar| format!("{} in {}", bar.state, elapsed(bar.duration))).collect();
    let (width, height) = (run_bars.len() * STEP, HALF * 2);
    let mut svg = format!(
        "<svg class=\"bars\" role=\"img\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         aria-label=\"The last runs, oldest first: {}\">",
        words.join(", ")
    );
    let _ = write!(svg, "<path class=\"line\" d=\"M0 {HALF}H{width}\"/>");
    for (at, (bar, words)) in run_bars.iter().zip(&words).enumerate() {
        let (x, size) = (at * STEP + 1, height_of(bar.duration, longest));
        let y = if is_failure(bar.state) { HALF + 1 } else { HALF - size };
        let _ = write!(
            svg,
            "<rect data-state=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{size}\"><title>{words}</title></rect>",
            bar.state
        );
    }
    svg.push_str("</svg>");
    Some(svg)
}

fn is_failure(state: &str) -> bool {
    matches!(state, "failed" | "abandoned")
}

/// Returns the height of a bar in proportion to the longest one.
fn height_of(duration: Duration, longest: Duration) -> usize {
    let most = HALF - 2;
    let share = duration.as_millis().saturating_mul(most as u128) / longest.as_millis().max(1);
    usize::try_from(share).unwrap_or(most).clamp(LEAST, most)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{HALF, RunBar, bars_svg};

    #[test]
    fn a_bar_is_as_high_as_its_run_was_long_and_a_failure_hangs() {
        let bar = |state, seconds| RunBar { state, duration: Duration::from_secs(seconds) };
        assert_eq!(bars_svg(&[]), None);
        let svg = bars_svg(&[bar("succeeded", 10), bar("failed", 5), bar("cancelled", 0)]).unwrap();
        assert!(svg.contains("oldest first: succeeded in 10.0s, failed in 5.0s, cancelled in"), "{svg}");
        assert!(svg.contains("data-state=\"succeeded\" x=\"1\" y=\"2\" width=\"5\" height=\"14\""), "{svg}");
        assert!(svg.contains(&format!("data-state=\"failed\" x=\"8\" y=\"{}\"", HALF + 1)), "{svg}");
        assert!(svg.contains("height=\"3\"") && !svg.contains("style"), "{svg}");
    }
}
