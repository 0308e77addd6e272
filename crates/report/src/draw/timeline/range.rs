//! The part of the time of a run in a timeline, and the parts next to it: they are in addresses, as seconds of the run.

use std::time::Duration;

use super::TimelineRange;

/// The shortest part of the time to show.
const MIN_LENGTH: Duration = Duration::from_millis(20);

/// The parts of the time next to one, each as the end of an address; `None`: there is no such part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimelineZoom {
    pub closer: Option<String>,
    pub first_half: Option<String>,
    pub last_half: Option<String>,
    /// Twice as much; empty: all of it.
    pub wider: Option<String>,
    pub earlier: Option<String>,
    pub later: Option<String>,
}

impl TimelineRange {
    /// Returns a part of the time by the words of an address, both in seconds; `None`: they are none.
    pub fn parse(from: &str, to: &str) -> Option<Self> {
        let time = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
        let from = if from.is_empty() { Duration::ZERO } else { time(from)? };
        let range = Self { from, to: time(to)? };
        (range.from < range.to).then_some(range)
    }

    /// Returns it in the words of an address.
    fn query(self) -> String {
        let seconds = |time: Duration| {
            format!("{:.3}", time.as_secs_f64()).trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        format!("from={}&to={}", seconds(self.from), seconds(self.to))
    }

    /// Returns it with another length around the same middle, within a time.
    fn scaled(self, length: Duration, whole: Duration) -> Self {
        let middle = (self.from + self.to) / 2;
        let from = middle.saturating_sub(length / 2).min(whole.saturating_sub(length));
        Self { from, to: (from + length).min(whole.max(self.to)) }
    }
}

impl TimelineZoom {
    /// Returns the parts next to the shown one, in a run of a length.
    pub fn of(range: Option<TimelineRange>, whole: Duration) -> Self {
        let shown = range.unwrap_or(TimelineRange { from: Duration::ZERO, to: whole });
        let length = shown.to.saturating_sub(shown.from);
        let is_divisible = length / 2 >= MIN_LENGTH;
        let middle = shown.from + length / 2;
        let closer = is_divisible.then(|| shown.scaled(length / 2, whole).query());
        let first_half = is_divisible.then(|| TimelineRange { to: middle, ..shown }.query());
        let last_half = is_divisible.then(|| TimelineRange { from: middle, ..shown }.query());
        if range.is_none() {
            return Self { closer, first_half, last_half, ..Self::default() };
        }
        let step = length / 2;
        let wider = if length * 2 >= whole { String::new() } else { shown.scaled(length * 2, whole).query() };
        let before = shown.from.min(step);
        let earlier =
            TimelineRange { from: shown.from.saturating_sub(before), to: shown.to.saturating_sub(before) };
        let later = TimelineRange { from: shown.from + step, to: shown.to + step };
        Self {
            closer,
            first_half,
            last_half,
            wider: Some(wider),
            earlier: (!before.is_zero()).then(|| earlier.query()),
            later: (shown.to < whole).then(|| later.query()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{TimelineRange, TimelineZoom};

    const MINUTE: Duration = Duration::from_mins(1);

    fn zoom(from: &str, to: &str) -> [String; 4] {
        let TimelineZoom { closer, wider, earlier, later, .. } =
            TimelineZoom::of(TimelineRange::parse(from, to), MINUTE);
        [closer, wider, earlier, later].map(|part| part.unwrap_or_else(|| "-".into()))
    }

    #[test]
    fn a_reader_goes_closer_and_back_without_an_end() {
        assert_eq!(zoom("", ""), ["from=15&to=45", "-", "-", "-"]);
        assert_eq!(zoom("15", "45"), ["from=22.5&to=37.5", "", "from=0&to=30", "from=30&to=60"]);
        assert_eq!(zoom("0", "10"), ["from=2.5&to=7.5", "from=0&to=20", "-", "from=5&to=15"]);
        assert_eq!(zoom("50", "60"), ["from=52.5&to=57.5", "from=40&to=60", "from=45&to=55", "-"]);
        assert_eq!(zoom("1", "1.02")[0], "-", "nothing is shorter");
    }

    #[test]
    fn each_half_can_be_chosen_until_nothing_is_shorter() {
        let halves = |from: &str, to: &str| {
            let zoom = TimelineZoom::of(TimelineRange::parse(from, to), MINUTE);
            [zoom.first_half, zoom.last_half].map(|part| part.unwrap_or_else(|| "-".into()))
        };
        assert_eq!(halves("", ""), ["from=0&to=30", "from=30&to=60"]);
        assert_eq!(halves("30", "60"), ["from=30&to=45", "from=45&to=60"]);
        assert_eq!(halves("1", "1.02"), ["-", "-"]);
    }

    #[test]
    fn what_is_no_part_shows_all() {
        for (from, to) in [
            ("5", "5"),
            ("6", "5"),
            ("-1", "5"),
            ("a", "5"),
            ("1", "inf"),
            ("1", "NaN"),
            ("1", ""),
            ("1", "1e300"),
        ] {
            assert_eq!(TimelineRange::parse(from, to), None, "{from} {to}");
        }
    }
}
