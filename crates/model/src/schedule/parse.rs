//! Parses the text of an expression.

use std::ops::Range;

use super::{
    CronExpression,
    days::{CronDays, MonthDays, WeekDays, bit, has},
    field::{CronField, CronPiece, HOURS, MINUTES, MONTH_DAYS, MONTHS, SECONDS, WEEK_DAYS},
};

/// A text that is not an expression: the error, its position and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadCron {
    /// The range in the expression, in bytes; empty where something is missing.
    pub at: Range<usize>,
    /// The error, as a lower-case fragment.
    pub message: String,
    /// The text to write instead.
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

pub(super) fn parse(text: &str) -> Result<CronExpression, BadCron> {
    let pieces = pieces(text);
    let place = match (pieces.first(), pieces.last()) {
        (Some(first), Some(last)) => first.at..last.place().end,
        _ => 0..text.len(),
    };
    if let Some(first) = pieces.first().filter(|first| first.text.starts_with('@')) {
        return named(text, *first, pieces.get(1));
    }
    match *pieces.as_slice() {
        [minutes, hours, month_days, months, week_days] => {
            fields(text, None, [minutes, hours, month_days, months, week_days], place)
        }
        [seconds, minutes, hours, month_days, months, week_days] => {
            let rest = [minutes, hours, month_days, months, week_days];
            fields(text, Some(seconds), rest, place)
        }
        [_, _, _, _, _, _, year] => Err(year.cron_error("a field for years is not supported").remedy(
            "remove it, and set `active_from` and `active_until`, or use `at` for a single \
                     date",
        )),
        _ => Err(BadCron {
            at: place,
            message: format!("a schedule must have five or six fields, not {}", pieces.len()),
            remedy: Some(
                "write minutes, hours, days of the month, months and days of the week: `30 6 * * \
                 MON-FRI`; seconds may come first"
                    .into(),
            ),
        }),
    }
}

/// Returns the pieces between blanks.
fn pieces(text: &str) -> Vec<CronPiece<'_>> {
    let mut at = 0;
    let mut pieces = Vec::new();
    for part in text.split([' ', '\t']) {
        if !part.is_empty() {
            pieces.push(CronPiece { text: part, at });
        }
        at += part.len() + 1;
    }
    pieces
}

/// Reads a macro.
fn named(text: &str, piece: CronPiece, next_piece: Option<&CronPiece>) -> Result<CronExpression, BadCron> {
    let fields = MACROS.iter().find(|(macro_name, _)| *macro_name == piece.text);
    if let (Some(_), Some(more)) = (fields, next_piece) {
        return Err(more
            .cron_error(format!("{} cannot be combined with other fields", piece.text))
            .remedy("remove it, or write out all fields"));
    }
    if let Some((_, fields)) = fields {
        return parse(fields).map(|cron| CronExpression { text: text.trim().into(), ..cron });
    }
    let remedy = match piece.text.to_ascii_lowercase().as_str() {
        "@reboot" => "a goal runs at times; set one, such as `@daily`".into(),
        "@every" | "@every_minute" => {
            "write the times: `* * * * *` is every minute, `*/10 * * * *` every ten minutes".into()
        }
        "@every_second" => "write `* * * * * *`".into(),
        lower => macros(lower),
    };
    Err(piece.cron_error(format!("invalid schedule `{}`", piece.text)).remedy(remedy))
}

/// Returns the advice on which macro to write.
fn macros(lower: &str) -> String {
    let mut names = MACROS.iter().map(|(name, _)| *name);
    match names.find(|name| *name == lower) {
        Some(name) => format!("write `{name}`"),
        None => format!("valid macros: {}", MACROS.map(|(name, _)| name).join(", ")),
    }
}

fn fields(
    text: &str,
    seconds: Option<CronPiece>,
    [minutes, hours, month_days, months, week_days]: [CronPiece; 5],
    place: Range<usize>,
) -> Result<CronExpression, BadCron> {
    let interval = [seconds, Some(minutes), Some(hours)]
        .into_iter()
        .flatten()
        .any(|piece| piece.text.contains(['*', '-', '/']));
    let cron = CronExpression {
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
        at: if month_days.at < months.at { month_days.at..months.place().end } else { place },
        message: "this is never due: the day does not exist in these months".into(),
        remedy: Some("`L` is the last day of every month".into()),
    })
}

/// Returns the values of a field without special days.
fn list(field: &CronField, piece: CronPiece) -> Result<u64, BadCron> {
    let mut mask = 0;
    for item in piece.items() {
        mask |= field.item(item)?;
    }
    Ok(mask)
}

/// Reads both day fields. As in Vixie's cron, a field beginning with `*` does not restrict: a day
/// must then match both, otherwise either. `+` before the days of the week requires both.
fn days(month_days: CronPiece, week_days: CronPiece) -> Result<CronDays, BadCron> {
    let free = |piece: CronPiece| piece.text.starts_with(['*', '?']);
    let (plus, week_days) = match week_days.text.strip_prefix('+') {
        Some(text) => (true, CronPiece { text, at: week_days.at + 1 }),
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
    Ok(CronDays { of_month, of_week, both })
}

/// Reads `L`, `L-3`, `LW`, `L-3W`, `15W`, or an item as in any field.
fn month_day(piece: CronPiece, days: &mut MonthDays) -> Result<(), BadCron> {
    let upper = piece.text.to_ascii_uppercase();
    let (base, working) = match upper.strip_suffix('W') {
        Some(base) => (base, true),
        None => (upper.as_str(), false),
    };
    let Some(rest) = base.strip_prefix('L') else {
        if !working {
            days.days |= MONTH_DAYS.item(piece)?;
            return Ok(());
        }
        if base.is_empty() || base.contains(|c: char| !c.is_ascii_digit()) {
            return Err(piece.cron_error("`W` must follow a single day").remedy(
                "`15W` is the weekday nearest to the 15th, `LW` the last weekday of the \
                         month",
            ));
        }
        let text = piece.text.get(..base.len()).unwrap_or_default();
        days.working |= bit(MONTH_DAYS.value(CronPiece { text, at: piece.at })?);
        return Ok(());
    };
    let before = match rest.strip_prefix('-') {
        None if rest.is_empty() => 0,
        Some(number) => number.parse::<u8>().ok().filter(|n| *n <= 30).ok_or_else(|| {
            piece
                .cron_error("`L-` must be followed by a number between 0 and 30")
                .remedy("`L-3` is three days before the end of the month")
        })?,
        None => {
            return Err(piece
                .cron_error(format!("`{}` is not a valid day of the month", piece.text))
                .remedy("`L` is the last day, `L-3` three days before it, `LW` the last weekday"));
        }
    };
    let mask = bit(i8::try_from(before).unwrap_or(0));
    if working {
        days.working_from_last |= mask;
    } else {
        days.from_last |= mask;
    }
    Ok(())
}

/// Reads `5#2`, `5#L`, `5L`, or an item as in any field.
fn week_day(piece: CronPiece, days: &mut WeekDays) -> Result<(), BadCron> {
    if let Some((day, nth)) = piece.split('#') {
        let day = WEEK_DAYS.value(day)? % 7;
        match nth.text {
            "L" | "l" => days.last |= bit(day),
            "1" | "2" | "3" | "4" | "5" => {
                days.nth |= bit(8 * day + nth.text.parse::<i8>().unwrap_or(0));
            }
            _ => {
                return Err(nth
                    .cron_error("`#` must be followed by a number between 1 and 5, or by `L`")
                    .remedy("`FRI#2` is the second Friday of the month, `FRI#L` the last"));
            }
        }
        return Ok(());
    }
    let last = piece.text.strip_suffix(['L', 'l']);
    if let Some(text) = last.filter(|text| !text.is_empty()) {
        let day = WEEK_DAYS.value(CronPiece { text, at: piece.at })?;
        days.last |= bit(day % 7);
        return Ok(());
    }
    days.days |= WEEK_DAYS.item(piece)?;
    Ok(())
}
