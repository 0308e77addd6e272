//! Scheduled times: rules as users write them become instants.
//!
//! An expression ([`CronExpression`]) gives times on a wall clock; a [`ScheduleZone`] maps them to instants; [`DstPolicy`]
//! decides about times a clock change skips or repeats. A [`GoalSchedule`] combines the rules of a
//! goal, and returns its scheduled times in any interval. All of it is pure: it depends on the
//! rules and on the database of zones, and on no clock.
//!
//! The grammar and the policies are documented in `docs/goals.md`, with the programs they were
//! compared to. Layer: below the language, beside [`wf_base::time`]; [`jiff`] has the
//! calendar and the zones.

mod civil;
mod cron;
mod days;
mod dst;
mod exclusion;
mod field;
mod parse;
mod search;
mod timing;
mod walk;
mod zone;

pub use civil::{BadCivil, CivilDate, CivilDateTime, ClockTime};
pub use cron::CronExpression;
pub use dst::{DstGapPolicy, DstNote, DstOverlapPolicy, DstPolicy};
pub use exclusion::{ScheduleExclusion, Weekday};
pub use parse::BadCron;
pub use timing::{GoalSchedule, Slot, TimingRule};
pub use zone::{BadZone, ClockChange, ScheduleZone, ZonedTime};

#[cfg(test)]
mod tests;
