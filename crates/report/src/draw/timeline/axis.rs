//! The axis of a timeline: which instant is where, and the instants that are named above the rows.
//!
//! Its ticks are whole numbers of a unit that people count in, so that the eye measures a bar without a calculation.

use std::{fmt::Write as _, time::Duration};

use super::picture::{RunTimeline, TOP, millis};
use wf_base::time::Moment;

/// The most ticks of an axis.
const MAX_TICKS: u64 = 8;

/// The most ticks, with those at both ends.
const MAX_DRAWN_TICKS: usize = 9;

/// The distances between ticks, in milliseconds; longer ones are whole days.
const DISTANCES: [u64; 30] = [
    1,
    2,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    15_000,
    30_000,
    60_000,
    120_000,
    300_000,
    600_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    10_800_000,
    21_600_000,
    43_200_000,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
];

/// A day in milliseconds.
const DAY: u64 = 86_400_000;

/// The time that a picture shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeAxis {
    begun: Moment,
    /// The time of the run before it.
    offset: Duration,
    /// Its length, at least a millisecond.
    length: Duration,
    /// The end of what goes on.
    now: Moment,
}

impl TimeAxis {
    /// Returns the axis of a run: all its instants are on it, also those that a clock has turned back.
    pub fn of(timeline: &RunTimeline) -> Self {
        let last = timeline.ended.unwrap_or(timeline.now);
        let bars = timeline.rows.iter().flat_map(|row| &row.bars);
        let marks = timeline.rows.iter().flat_map(|row| &row.marks).map(|mark| mark.at);
        let instants = bars.flat_map(|bar| [Some(bar.from), bar.until]).flatten().chain(marks);
        let (begun, last) = instants
            .fold((timeline.begun, last), |(first, last), instant| (first.min(instant), last.max(instant)));
        let length = last.since(begun).max(Duration::from_millis(1));
        let now = timeline.ended.unwrap_or(timeline.now);
        let whole = Self { begun, offset: Duration::ZERO, length, now };
        timeline.range.map_or(whole, |range| Self {
            begun: begun.after(range.from),
            offset: range.from,
            length: range.to.saturating_sub(range.from).max(Duration::from_millis(1)),
            now,
        })
    }

    /// True if a stretch of time has a part on the axis; one without an end goes on.
    pub fn shows(&self, from: Moment, until: Option<Moment>) -> bool {
        // Of a clock that was turned back, an end may be before its beginning.
        from.min(until.unwrap_or(from)) <= self.begun.after(self.length)
            && until.is_none_or(|until| until.max(from) >= self.begun)
    }

    /// Returns the place of an instant in percent of the width; one beside the axis is at its end.
    pub fn x(&self, instant: Moment) -> f64 {
        self.percent(instant.since(self.begun))
    }

    /// Returns the place at which what goes on ends.
    pub fn end(&self) -> f64 {
        self.x(self.now)
    }

    /// Returns its length in milliseconds.
    pub fn length_ms(&self) -> u128 {
        self.length.as_millis()
    }

    /// Returns the time from its beginning to now, in milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.now.millis().saturating_sub(self.begun.millis())
    }

    fn percent(&self, time: Duration) -> f64 {
        100.0 * (millis(time) / millis(self.length)).clamp(0.0, 1.0)
    }

    /// Returns the ticks, each with its distance from the beginning of the run.
    pub fn ticks(&self) -> Vec<Duration> {
        let length = u64::try_from(self.length.as_millis()).unwrap_or(u64::MAX);
        let fits = |distance: &&u64| length / **distance < MAX_TICKS;
        let distance = DISTANCES.iter().find(fits).copied();
        let days = || (length / DAY / MAX_TICKS).saturating_add(1).saturating_mul(DAY);
        let distance = distance.unwrap_or_else(days);
        let offset = u64::try_from(self.offset.as_millis()).unwrap_or(u64::MAX);
        let ticks = (offset.div_ceil(distance)..).map(|at| at.saturating_mul(distance));
        let shown = ticks.take_while(|tick| *tick <= offset.saturating_add(length));
        shown.take(MAX_DRAWN_TICKS).map(Duration::from_millis).collect()
    }

    /// Returns the lines and the words of the ticks.
    pub fn svg(&self) -> String {
        let mut text = String::new();
        for tick in self.ticks() {
            let x = self.percent(tick.saturating_sub(self.offset));
            let (base, words) = (TOP - 10.0, tick_words(tick));
            let _ = writeln!(
                text,
                "<g><line class=\"tick\" x1=\"{x:.2}%\" y1=\"{TOP}\" x2=\"{x:.2}%\" y2=\"100%\"/>\
                 <text class=\"time\" x=\"{x:.2}%\" y=\"{base}\" text-anchor=\"middle\">{words}</text></g>"
            );
        }
        text
    }
}

/// Returns a distance in at most two units: `0`, `500 ms`, `1 min 30 s`, `2 h`, `3 d`.
fn tick_words(tick: Duration) -> String {
    let units = [("d", DAY), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = u64::try_from(tick.as_millis()).unwrap_or(u64::MAX);
    if (1_000..60_000).contains(&rest) {
        return format!("{} s", millis(tick) / 1_000.0);
    }
    let mut words = Vec::new();
    for (unit, length) in units {
        if rest >= length && words.len() < 2 {
            words.push(format!("{} {unit}", rest / length));
            rest %= length;
        }
    }
    if words.is_empty() { "0".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MAX_TICKS, TimeAxis, tick_words};
    use wf_base::time::Moment;

    fn ticks(length: u64) -> Vec<String> {
        let (begun, offset) = (Moment::from_millis(0), Duration::ZERO);
        let axis = TimeAxis { begun, offset, length: Duration::from_millis(length), now: begun };
        axis.ticks().into_iter().map(tick_words).collect()
    }

    #[test]
    fn ticks_are_whole_numbers_of_a_unit() {
        assert_eq!(ticks(1), ["0", "1 ms"]);
        assert_eq!(ticks(1_700), ["0", "500 ms", "1 s", "1.5 s"]);
        assert_eq!(ticks(100_000), ["0", "15 s", "30 s", "45 s", "1 min", "1 min 15 s", "1 min 30 s"]);
        assert_eq!(ticks(5 * 3_600_000), ["0", "1 h", "2 h", "3 h", "4 h", "5 h"]);
    }

    #[test]
    fn an_axis_of_any_length_has_a_few_ticks() {
        for power in 0..62 {
            let count = ticks(1 << power).len();
            assert!((2..=usize::try_from(MAX_TICKS).unwrap() + 1).contains(&count), "2^{power}: {count}");
        }
    }
}
