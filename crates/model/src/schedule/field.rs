//! One field of an expression: its items and their positions.

use std::ops::Range;

use super::{BadCron, days::bit};

/// The values and names a field takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CronField {
    /// The name of the field in messages.
    pub(super) name: &'static str,
    pub(super) min: i8,
    /// The largest number that may be written.
    pub(super) max: i8,
    /// The largest value; Sunday may also be written as 7.
    pub(super) top: i8,
    /// The names of its values, from `min` on.
    pub(super) names: &'static [&'static str],
}

pub(super) const SECONDS: CronField = CronField::of("seconds", 0, 59);
pub(super) const MINUTES: CronField = CronField::of("minutes", 0, 59);
pub(super) const HOURS: CronField = CronField::of("hours", 0, 23);
pub(super) const MONTH_DAYS: CronField = CronField::of("days of the month", 1, 31);
pub(super) const MONTHS: CronField = CronField {
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    ..CronField::of("months", 1, 12)
};
pub(super) const WEEK_DAYS: CronField = CronField {
    max: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ..CronField::of("days of the week", 0, 6)
};

/// A piece of the expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct CronPiece<'a> {
    pub(super) text: &'a str,
    /// The offset of its first byte.
    pub(super) at: usize,
}

impl<'a> CronPiece<'a> {
    pub(super) fn place(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Splits it at a mark that is one byte long.
    pub(super) fn split(&self, mark: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(mark)?;
        let at = self.at + before.len() + mark.len_utf8();
        let before = CronPiece { text: before, at: self.at };
        Some((before, CronPiece { text: after, at }))
    }

    /// Returns the items between commas.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let mut at = self.at;
        self.text.split(',').map(move |text| {
            let item = CronPiece { text, at };
            at += text.len() + 1;
            item
        })
    }

    pub(super) fn cron_error(&self, message: impl Into<String>) -> BadCron {
        BadCron { at: self.place(), message: message.into(), remedy: None }
    }
}

impl CronField {
    const fn of(name: &'static str, min: i8, max: i8) -> Self {
        Self { name, min, max, top: max, names: &[] }
    }

    /// Reads a number or name of this field.
    pub(super) fn value(&self, piece: CronPiece) -> Result<i8, BadCron> {
        if piece.text.is_empty() {
            return Err(piece
                .cron_error(format!("a value is missing in the {}", self.name))
                .remedy("`,` and `-` need a value on each side, and `/` needs one before it"));
        }
        let lower = piece.text.to_ascii_lowercase();
        if let Some(at) = self.names.iter().position(|name| *name == lower) {
            return Ok(self.min + i8::try_from(at).unwrap_or(0));
        }
        if piece.text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = piece.text.parse().unwrap_or(i8::MAX);
            if (self.min..=self.max).contains(&number) {
                return Ok(number);
            }
            return Err(piece
                .cron_error(format!("{} is out of the {}", piece.text, self.name))
                .remedy(self.range()));
        }
        Err(self.unknown(piece))
    }

    /// Returns the values this field takes, in words.
    fn range(&self) -> String {
        let names = match (self.names.first(), self.names.last()) {
            (Some(first), Some(last)) => {
                format!(", or {} to {}", first.to_uppercase(), last.to_uppercase())
            }
            _ => String::new(),
        };
        format!("the {} are {} to {}{names}", self.name, self.min, self.max)
    }

    /// Returns the error for a piece that is neither a number nor a name.
    fn unknown(&self, piece: CronPiece) -> BadCron {
        let bad = |text: &str, remedy: &str| {
            let message = format!("`{text}` is not valid in the {}", self.name);
            piece.cron_error(message).remedy(remedy)
        };
        let of_month = "`L` (the last day of the month), `L-3` and `15W` are for the days of the \
                        month, `5L` and `5#2` for the days of the week";
        match piece.text {
            "?" => bad("?", "use `*`; `?` is only valid for all days of the month or of the week"),
            "L" | "l" if *self == WEEK_DAYS => {
                bad("L", "put the day before it: `5L` or `FRIL` is the last Friday of the month")
            }
            text if text.contains('#') => bad("#", of_month),
            text if text.ends_with(['L', 'l']) || text.starts_with("L-") => bad("L", of_month),
            text if text.ends_with(['W', 'w']) => bad("W", of_month),
            text if text.starts_with('+') => bad("+", "put it before the days of the week: `0 9 13 * +FRI`"),
            text => {
                piece.cron_error(format!("`{text}` is not valid in the {}", self.name)).remedy(self.range())
            }
        }
    }

    /// Reads the values of one item: `*`, a value, a range, each with a step or without.
    pub(super) fn item(&self, piece: CronPiece) -> Result<u64, BadCron> {
        let (base, step) = match piece.split('/') {
            Some((base, step)) => (base, Some(self.step(step)?)),
            None => (piece, None),
        };
        let stars = *self == MONTH_DAYS || *self == WEEK_DAYS;
        let (from, until) = if base.text == "*" || (stars && base.text == "?") {
            (self.min, self.top)
        } else if let Some((from, until)) = base.split('-') {
            self.ends(self.value(from)?, self.value(until)?)
        } else {
            let value = self.wrap_value(self.value(base)?);
            (value, if step.is_some() { self.top } else { value })
        };
        let values = (from..=until).step_by(step.unwrap_or(1));
        Ok(values.fold(0, |mask, value| mask | bit(self.wrap_value(value))))
    }

    /// Lets a range wrap around the end of its field: `22-3` is 22, 23, 0, 1, 2, 3.
    fn ends(&self, from: i8, until: i8) -> (i8, i8) {
        if from <= until {
            (from, until)
        } else {
            let from = self.wrap_value(from);
            let size = self.top - self.min + 1;
            (from, if from <= until { until } else { until + size })
        }
    }

    /// Wraps a value that is beyond the end.
    fn wrap_value(&self, value: i8) -> i8 {
        (value - self.min) % (self.top - self.min + 1) + self.min
    }

    /// Reads the distance from one value to the next.
    fn step(&self, piece: CronPiece) -> Result<usize, BadCron> {
        let digits = !piece.text.is_empty() && piece.text.bytes().all(|b| b.is_ascii_digit());
        if !digits {
            return Err(piece
                .cron_error("a step must be a number")
                .remedy("write the interval between values: `*/15`"));
        }
        match piece.text.parse().unwrap_or(usize::MAX) {
            0 => Err(piece.cron_error("a step of 0 is not allowed").remedy("write `*/1`, or `*`")),
            step if i8::try_from(step).is_ok_and(|step| step <= self.max) => Ok(step),
            _ => Err(piece
                .cron_error(format!("a step of {} is larger than the {}", piece.text, self.name))
                .remedy(format!("{}; counting restarts with each range", self.range()))),
        }
    }
}
