//! The text of an expression becomes what it means.

use std::ops::Range;

use super::Cron;
use super::days::{Days, MonthDays, WeekDays, bit, has};
use super::field::{Field, HOURS, MINUTES, MONTH_DAYS, MONTHS, Piece, SECONDS, WEEK_DAYS};

/// A text is no expression: what is wrong, where, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadCron {
    /// Where in the expression, in bytes; may be empty, at a place where something is missing.
    pub at: Range<usize>,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// What to write.
    pub remedy: Option<String>,
}

impl BadCron {
    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

/// Names of common expressions.
const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Cron, BadCron> {
    let pieces = pieces(text);
    let place = match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) => first.at..last.place().end,
        _ => 0..text.len(),
    };
    if let Some(first) = pieces.first().filter(|first| first.text.starts_with('@')) {
        return named(text, *first, pieces.get(1));
    }
    match *pieces.as_slice() {
        [minutes, hours, month_days, months, week_days] => fields(
            text,
            None,
            [minutes, hours, month_days, months, week_days],
            place,
        ),
        [seconds, minutes, hours, month_days, months, week_days] => {
            let rest = [minutes, hours, month_days, months, week_days];
            fields(text, Some(seconds), rest, place)
        }
        [_, _, _, _, _, _, year] => Err(year
            .bad("there is no field for years")
            .remedy("leave it out, and say `active_from` and `active_until`, or `at` for one day")),
        _ => Err(BadCron {
            at: place,
            message: format!(
                "a schedule has five fields, or six, and not {}",
                pieces.len()
            ),
            remedy: Some(
                "write minutes, hours, days of the month, months and days of the week: `30 6 * * \
                 MON-FRI`; seconds may stand before them"
                    .into(),
            ),
        }),
    }
}

/// What is between blanks.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut at = 0;
    let mut pieces = Vec::new();
    for part in text.split([' ', '\t']) {
        if !part.is_empty() {
            pieces.push(Piece { text: part, at });
        }
        at += part.len() + 1;
    }
    pieces
}

/// Reads a macro.
fn named(text: &str, name: Piece, more: Option<&Piece>) -> Result<Cron, BadCron> {
    let fields = MACROS.iter().find(|(known, _)| *known == name.text);
    if let (Some(_), Some(more)) = (fields, more) {
        return Err(more
            .bad(format!("nothing can stand beside {}", name.text))
            .remedy("leave it out, or write all fields"));
    }
    if let Some((_, fields)) = fields {
        return parse(fields).map(|cron| Cron {
            text: text.trim().into(),
            ..cron
        });
    }
    let remedy = match name.text.to_ascii_lowercase().as_str() {
        "@reboot" => "a goal is about times; give one, like `@daily`".into(),
        "@every" | "@every_minute" => {
            "write the times: `* * * * *` is every minute, `*/10 * * * *` every ten".into()
        }
        "@every_second" => "write `* * * * * *`".into(),
        lower => macros(lower),
    };
    Err(name
        .bad(format!("`{}` is no schedule", name.text))
        .remedy(remedy))
}

/// Which macro to write.
fn macros(lower: &str) -> String {
    let mut names = MACROS.iter().map(|(name, _)| *name);
    match names.find(|name| *name == lower) {
        Some(name) => format!("write `{name}`"),
        None => format!("there are {}", MACROS.map(|(name, _)| name).join(", ")),
    }
}

/// Reads the fields.
fn fields(
    text: &str,
    seconds: Option<Piece>,
    [minutes, hours, month_days, months, week_days]: [Piece; 5],
    place: Range<usize>,
) -> Result<Cron, BadCron> {
    let interval = [seconds, Some(minutes), Some(hours)]
        .into_iter()
        .flatten()
        .any(|piece| piece.text.contains(['*', '-', '/']));
    let cron = Cron {
        seconds: seconds.map_or(Ok(1), |piece| list(&SECONDS, piece))?,
        minutes: list(&MINUTES, minutes)?,
        hours: list(&HOURS, hours)?,
        days: days(month_days, week_days)?,
        months: list(&MONTHS, months)?,
        interval,
        text: text.trim().into(),
    };
    let ever = (1..=12).any(|month| has(cron.months, month) && cron.days.any(month));
    if ever {
        return Ok(cron);
    }
    Err(BadCron {
        at: if month_days.at < months.at {
            month_days.at..months.place().end
        } else {
            place
        },
        message: "this never comes: no such month has such a day".into(),
        remedy: Some("`L` is the last day of a month, whichever that is".into()),
    })
}

/// The values of a field without special days.
fn list(field: &Field, piece: Piece) -> Result<u64, BadCron> {
    let mut mask = 0;
    for item in piece.items() {
        mask |= field.item(item)?;
    }
    Ok(mask)
}

/// Reads both day fields. As in Vixie's cron, a field that begins with `*` does not restrict: a
/// day is then of both, otherwise of either. `+` before the days of the week asks for both.
fn days(month_days: Piece, week_days: Piece) -> Result<Days, BadCron> {
    let free = |piece: Piece| piece.text.starts_with(['*', '?']);
    let (plus, week_days) = match week_days.text.strip_prefix('+') {
        Some(text) => (
            true,
            Piece {
                text,
                at: week_days.at + 1,
            },
        ),
        None => (false, week_days),
    };
    let mut of_month = MonthDays::default();
    for item in month_days.items() {
        month_day(item, &mut of_month)?;
    }
    let mut of_week = WeekDays::default();
    for item in week_days.items() {
        week_day(item, &mut of_week)?;
    }
    let both = plus || free(month_days) || free(week_days);
    Ok(Days {
        of_month,
        of_week,
        both,
    })
}

/// `L`, `L-3`, `LW`, `L-3W`, `15W`, or what every field has.
fn month_day(item: Piece, days: &mut MonthDays) -> Result<(), BadCron> {
    let upper = item.text.to_ascii_uppercase();
    let (base, working) = match upper.strip_suffix('W') {
        Some(base) => (base, true),
        None => (upper.as_str(), false),
    };
    let Some(rest) = base.strip_prefix('L') else {
        if !working {
            days.days |= MONTH_DAYS.item(item)?;
            return Ok(());
        }
        if base.is_empty() || base.contains(|c: char| !c.is_ascii_digit()) {
            return Err(item
                .bad("`W` stands after one day")
                .remedy("`15W` is the working day nearest to the 15th, `LW` the month's last"));
        }
        let text = item.text.get(..base.len()).unwrap_or_default();
        days.working |= bit(MONTH_DAYS.value(Piece { text, at: item.at })?);
        return Ok(());
    };
    let before = match rest.strip_prefix('-') {
        None if rest.is_empty() => 0,
        Some(number) => number
            .parse::<u8>()
            .ok()
            .filter(|n| *n <= 30)
            .ok_or_else(|| {
                item.bad("`L-` is followed by 0 to 30")
                    .remedy("`L-3` is three days before the last of the month")
            })?,
        None => {
            return Err(item
                .bad(format!("`{}` is none of the days of the month", item.text))
                .remedy(
                    "`L` is the last day, `L-3` three days before, `LW` the last working day",
                ));
        }
    };
    let mask = bit(i64::from(before));
    if working {
        days.working_from_last |= mask;
    } else {
        days.from_last |= mask;
    }
    Ok(())
}

/// `5#2`, `5#L`, `5L`, or what every field has.
fn week_day(item: Piece, days: &mut WeekDays) -> Result<(), BadCron> {
    if let Some((day, nth)) = item.split('#') {
        let day = WEEK_DAYS.value(day)? % 7;
        match nth.text {
            "L" | "l" => days.last |= bit(day),
            "1" | "2" | "3" | "4" | "5" => {
                days.nth |= bit(8 * day + nth.text.parse::<i64>().unwrap_or(0));
            }
            _ => {
                return Err(nth
                    .bad("`#` is followed by 1 to 5, or by `L`")
                    .remedy("`FRI#2` is the second Friday of the month, `FRI#L` the last"));
            }
        }
        return Ok(());
    }
    let last = item.text.strip_suffix(['L', 'l']);
    if let Some(text) = last.filter(|text| !text.is_empty()) {
        let day = WEEK_DAYS.value(Piece { text, at: item.at })?;
        days.last |= bit(day % 7);
        return Ok(());
    }
    days.days |= WEEK_DAYS.item(item)?;
    Ok(())
}
