//! The months of a goal: each slot by its `days`, or the worst of each hour by its `hours` if the goal is due often.
//!
//! Start at `days`: it has the month, and decides between the two.

mod days;
mod hours;

pub(super) use days::CalendarPage;
pub use days::{CalendarDay, CalendarMonth, CalendarSlot};
pub use hours::{DayHours, HourCell};
