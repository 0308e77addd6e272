//! The days of a month an expression selects.

use jiff::civil::Date;

/// Days of the month, and those counted from its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MonthDays {
    /// Bit `d`: the day `d`.
    pub(super) days: u64,
    /// Bit `n`: `n` days before the last.
    pub(super) from_last: u64,
    /// Bit `d`: the working day (Monday to Friday) nearest to the day `d`.
    pub(super) working: u64,
    /// Bit `n`: the working day nearest to `n` days before the last.
    pub(super) working_from_last: u64,
}

/// Days of the week, and those counted in the month. Sunday is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WeekDays {
    /// Bit `w`: every such day.
    pub(super) days: u64,
    /// Bit `8 w + n`: the `n`th such day of the month.
    pub(super) nth: u64,
    /// Bit `w`: the last such day of the month.
    pub(super) last: u64,
}

/// Both day fields, and how they combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CronDays {
    pub(super) of_month: MonthDays,
    pub(super) of_week: WeekDays,
    /// True if a day must match both fields; otherwise either.
    pub(super) both: bool,
}

/// True if a bit is set; false if it is out of range.
pub(super) fn has(mask: u64, bit: i8) -> bool {
    mask & self::bit(bit) != 0
}

/// Returns the word with only this bit set; zero if it is out of range.
pub(super) fn bit(bit: i8) -> u64 {
    u32::try_from(bit).ok().and_then(|bit| 1u64.checked_shl(bit)).unwrap_or(0)
}

/// Returns the lowest set bit from `from` on.
pub(super) fn lowest(mask: u64, from: i8) -> Option<i8> {
    let rest = u32::try_from(from).ok().and_then(|from| mask.checked_shr(from)).filter(|rest| *rest != 0)?;
    i8::try_from(rest.trailing_zeros()).ok().map(|more| from + more)
}

impl CronDays {
    /// Returns the selected days of the month beginning on this day: bit `d` is the day `d`.
    pub(super) fn mask(&self, first: Date) -> u64 {
        let month = self.of_month.mask(first);
        let week = self.of_week.mask(first);
        let days = if self.both { month & week } else { month | week };
        days & (bit(first.days_in_month() + 1) - 2)
    }

    /// True if this month ever has a selected day. Within 28 years, each length of a month begins on each day of
    /// the week.
    pub(super) fn any(&self, month: i8) -> bool {
        (2000..2028).any(|year| Date::new(year, month, 1).is_ok_and(|first| self.mask(first) != 0))
    }
}

impl MonthDays {
    fn mask(&self, first: Date) -> u64 {
        let mut mask = self.days;
        if self.from_last | self.working | self.working_from_last == 0 {
            return mask;
        }
        let len = first.days_in_month();
        for day in 1..=len {
            let left = len - day;
            if has(self.from_last, left) {
                mask |= bit(day);
            }
            if has(self.working, day) || has(self.working_from_last, left) {
                mask |= bit(working_day(day, first));
            }
        }
        mask
    }
}

impl WeekDays {
    fn mask(&self, first: Date) -> u64 {
        if self.days == 0b111_1111 {
            return u64::MAX;
        }
        let (start, len) = (first.weekday().to_sunday_zero_offset(), first.days_in_month());
        let mut mask = 0;
        for day in 1..=len {
            let weekday = (start + day - 1) % 7;
            let nth = (day - 1) / 7 + 1;
            let last = day + 7 > len;
            if has(self.days, weekday)
                || has(self.nth, 8 * weekday + nth)
                || (last && has(self.last, weekday))
            {
                mask |= bit(day);
            }
        }
        mask
    }
}

/// Returns the day from Monday to Friday that is nearest to a day, in the same month.
fn working_day(day: i8, first: Date) -> i8 {
    match (first.weekday().to_sunday_zero_offset() + day - 1) % 7 {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == first.days_in_month() => day - 2,
        0 => day + 1,
        _ => day,
    }
}
