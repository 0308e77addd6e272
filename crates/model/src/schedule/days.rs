//! The days of a month that an expression selects.

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
pub(super) fn has(mask: u64, bit: i64) -> bool {
    u32::try_from(bit).ok().and_then(|bit| mask.checked_shr(bit)).is_some_and(|rest| rest & 1 == 1)
}

/// Returns the word with only this bit set; zero if it is out of range.
pub(super) fn bit(bit: i64) -> u64 {
    u32::try_from(bit).ok().and_then(|bit| 1u64.checked_shl(bit)).unwrap_or(0)
}

/// Returns the lowest set bit from `from` on.
pub(super) fn lowest(mask: u64, from: i64) -> Option<i64> {
    let rest = u32::try_from(from).ok().and_then(|from| mask.checked_shr(from)).filter(|rest| *rest != 0)?;
    Some(from + i64::from(rest.trailing_zeros()))
}

impl CronDays {
    /// Returns the selected days of a month of this length whose first day has this day of the
    /// week: bit `d` is the day `d`.
    pub(super) fn mask(&self, first: i64, len: i64) -> u64 {
        let all = bit(len + 1) - 2;
        let month = self.of_month.mask(first, len);
        let week = self.of_week.mask(first, len);
        let days = if self.both { month & week } else { month | week };
        days & all
    }

    /// True if this month ever has a selected day: in one of the fourteen calendars, each of which
    /// recurs within 400 years.
    pub(super) fn any(&self, month: i64) -> bool {
        let lens: &[i64] = match month {
            2 => &[28, 29],
            4 | 6 | 9 | 11 => &[30],
            _ => &[31],
        };
        lens.iter().any(|len| (0..7).any(|first| self.mask(first, *len) != 0))
    }
}

impl MonthDays {
    fn mask(&self, first: i64, len: i64) -> u64 {
        let mut mask = self.days;
        if self.from_last | self.working | self.working_from_last == 0 {
            return mask;
        }
        for day in 1..=len {
            let left = len - day;
            if has(self.from_last, left) {
                mask |= bit(day);
            }
            if has(self.working, day) || has(self.working_from_last, left) {
                mask |= bit(working_day(day, first, len));
            }
        }
        mask
    }
}

impl WeekDays {
    fn mask(&self, first: i64, len: i64) -> u64 {
        let mut mask = 0;
        if self.days == 0b111_1111 {
            return u64::MAX;
        }
        for day in 1..=len {
            let weekday = (first + day - 1) % 7;
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
fn working_day(day: i64, first: i64, len: i64) -> i64 {
    match (first + day - 1) % 7 {
        6 if day == 1 => 3,
        6 => day - 1,
        0 if day == len => day - 2,
        0 => day + 1,
        _ => day,
    }
}
