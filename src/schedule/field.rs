//! One field of an expression: its items, and where each stands.

use std::ops::Range;

use super::BadCron;
use super::days::bit;

/// What a field can have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// What it is called in a message.
    pub(super) name: &'static str,
    pub(super) min: i64,
    /// The largest number that may be written.
    pub(super) max: i64,
    /// The largest value there is: Sunday is written as 7, too.
    pub(super) top: i64,
    /// Names of its values, from `min` on.
    pub(super) names: &'static [&'static str],
}

pub(super) const SECONDS: Field = Field::of("seconds", 0, 59);
pub(super) const MINUTES: Field = Field::of("minutes", 0, 59);
pub(super) const HOURS: Field = Field::of("hours", 0, 23);
pub(super) const MONTH_DAYS: Field = Field::of("days of the month", 1, 31);
pub(super) const MONTHS: Field = Field {
    names: &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
    ..Field::of("months", 1, 12)
};
pub(super) const WEEK_DAYS: Field = Field {
    max: 7,
    names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    ..Field::of("days of the week", 0, 6)
};

/// A piece of the expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    /// What it says.
    pub(super) text: &'a str,
    /// Where it begins, in bytes.
    pub(super) at: usize,
}

impl<'a> Piece<'a> {
    /// Where it stands.
    pub(super) fn place(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// What is before and after a mark that is one byte long.
    pub(super) fn split(&self, mark: char) -> Option<(Self, Self)> {
        let (before, after) = self.text.split_once(mark)?;
        let at = self.at + before.len() + mark.len_utf8();
        let before = Piece {
            text: before,
            at: self.at,
        };
        Some((before, Piece { text: after, at }))
    }

    /// What is between commas.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'a> {
        let mut at = self.at;
        self.text.split(',').map(move |text| {
            let item = Piece { text, at };
            at += text.len() + 1;
            item
        })
    }

    /// This is what is wrong.
    pub(super) fn bad(&self, message: impl Into<String>) -> BadCron {
        BadCron {
            at: self.place(),
            message: message.into(),
            remedy: None,
        }
    }
}

impl Field {
    const fn of(name: &'static str, min: i64, max: i64) -> Self {
        Self {
            name,
            min,
            max,
            top: max,
            names: &[],
        }
    }

    /// A number or name of this field.
    pub(super) fn value(&self, piece: Piece) -> Result<i64, BadCron> {
        if piece.text.is_empty() {
            return Err(piece
                .bad(format!("a value is missing among the {}", self.name))
                .remedy("a value stands on each side of `,` and `-`, and before `/`"));
        }
        let lower = piece.text.to_ascii_lowercase();
        if let Some(at) = self.names.iter().position(|name| *name == lower) {
            return Ok(self.min + i64::try_from(at).unwrap_or(0));
        }
        if piece.text.bytes().all(|byte| byte.is_ascii_digit()) {
            let number = piece.text.parse().unwrap_or(i64::MAX);
            if (self.min..=self.max).contains(&number) {
                return Ok(number);
            }
            return Err(piece
                .bad(format!("{} is out of the {}", piece.text, self.name))
                .remedy(self.range()));
        }
        Err(self.unknown(piece))
    }

    /// What this field takes, in words.
    fn range(&self) -> String {
        let names = match (self.names.first(), self.names.last()) {
            (Some(first), Some(last)) => {
                format!(", or {} to {}", first.to_uppercase(), last.to_uppercase())
            }
            _ => String::new(),
        };
        format!("the {} are {} to {}{names}", self.name, self.min, self.max)
    }

    /// A piece is neither a number nor a name.
    fn unknown(&self, piece: Piece) -> BadCron {
        let bad = |what: &str, remedy: &str| {
            let message = format!("`{what}` means nothing in the {}", self.name);
            piece.bad(message).remedy(remedy)
        };
        let of_month = "`L` (the last day of the month), `L-3` and `15W` belong in the days of the \
                        month, `5L` and `5#2` in the days of the week";
        match piece.text {
            "?" => bad(
                "?",
                "write `*`; `?` stands only for all days of the month or of the week",
            ),
            "L" | "l" if *self == WEEK_DAYS => bad(
                "L",
                "write the day before it: `5L` or `FRIL` is the last Friday of the month",
            ),
            text if text.contains('#') => bad("#", of_month),
            text if text.ends_with(['L', 'l']) || text.starts_with("L-") => bad("L", of_month),
            text if text.ends_with(['W', 'w']) => bad("W", of_month),
            text if text.starts_with('+') => bad(
                "+",
                "it stands before the days of the week: `0 9 13 * +FRI`",
            ),
            text => piece
                .bad(format!("`{text}` is none of the {}", self.name))
                .remedy(self.range()),
        }
    }

    /// The values of one item: `*`, a value, a range, each with a step or without.
    pub(super) fn item(&self, item: Piece) -> Result<u64, BadCron> {
        let (base, step) = match item.split('/') {
            Some((base, step)) => (base, Some(self.step(step)?)),
            None => (item, None),
        };
        let stars = *self == MONTH_DAYS || *self == WEEK_DAYS;
        let (from, until) = if base.text == "*" || (stars && base.text == "?") {
            (self.min, self.top)
        } else if let Some((from, until)) = base.split('-') {
            self.ends(self.value(from)?, self.value(until)?)
        } else {
            let value = self.wrapped(self.value(base)?);
            (value, if step.is_some() { self.top } else { value })
        };
        let mut mask = 0;
        let mut value = from;
        while value <= until {
            mask |= bit(self.wrapped(value));
            value += step.unwrap_or(1);
        }
        Ok(mask)
    }

    /// A range goes on over the end of its field: `22-3` is 22, 23, 0, 1, 2, 3.
    fn ends(&self, from: i64, until: i64) -> (i64, i64) {
        if from <= until {
            (from, until)
        } else {
            let from = self.wrapped(from);
            let size = self.top - self.min + 1;
            (from, if from <= until { until } else { until + size })
        }
    }

    /// A value that went over the end.
    fn wrapped(&self, value: i64) -> i64 {
        (value - self.min) % (self.top - self.min + 1) + self.min
    }

    /// How far it is from one value to the next.
    fn step(&self, piece: Piece) -> Result<i64, BadCron> {
        let digits = !piece.text.is_empty() && piece.text.bytes().all(|b| b.is_ascii_digit());
        if !digits {
            return Err(piece
                .bad("a step is a number")
                .remedy("write how far it is from one to the next: `*/15`"));
        }
        match piece.text.parse().unwrap_or(i64::MAX) {
            0 => Err(piece
                .bad("a step of 0 leads nowhere")
                .remedy("write `*/1`, or `*`")),
            step if step <= self.max => Ok(step),
            _ => Err(piece
                .bad(format!(
                    "a step of {} is larger than the {}",
                    piece.text, self.name
                ))
                .remedy(format!(
                    "{}; a step starts anew where they do",
                    self.range()
                ))),
        }
    }
}
