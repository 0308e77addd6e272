//! The times of a goal: a month with each slot by its `days`, or the worst of each hour by its `hours` if there are many;
//! the slots of one hour; the last ninety days; and a `week` of all goals.
//!
//! ```text
//! ledger ──▶ tallies ──▶ HourTable ──▶ hours of a month and of a week, days of a quarter
//!        └─▶ slots ────▶ SlotMerge ──▶ days of a month, slots of an hour
//! ```
//!
//! **Invariant:** whatever is recorded is seen: a cell with a record shows its state, and what is cut says so.
//!
//! Start at `days`: it has the month, and decides between the two.

mod days;
mod hours;
mod month;
mod read;
mod recent;
mod slots;
#[cfg(test)]
mod tests;
mod week;

pub use days::{CalendarDay, CalendarMonth, HourSlots};
pub(super) use hours::slot_word;
pub use hours::{DayHours, HourCell};
pub(super) use month::{date_text, monday_of};
pub(super) use read::goal_times;
pub use read::{CalendarQuery, GoalTimes};
pub use recent::{RecentDay, RecentDays};
pub use slots::CalendarSlot;
pub use week::{WeekOfGoal, WeekView, is_week, week_view};
