//! When something is due: rules as people write them become instants.
//!
//! An expression ([`Cron`]) is about what a clock on a wall shows; a [`Zone`] says when it shows
//! that; [`Dst`] says what happens when it never does, or does so twice. A [`Timing`] puts the
//! rules of a goal together, and tells its slots in any interval. All of it is pure: it depends
//! on the rules and on the database of zones, and on no clock.
//!
//! The grammar and the policies are told in `docs/goals.md`, with the programs they were compared
//! to. Layer: below the language, beside [`crate::time`]; it names `jiff` for the zones.

mod around;
mod civil;
mod cron;
mod days;
mod dst;
mod exclusion;
mod field;
mod free;
mod parse;
mod timing;
mod walk;
mod zone;

pub use civil::{BadCivil, Civil, ClockTime, Date};
pub use cron::Cron;
pub use dst::{Dst, DstNote, Fold, Gap};
pub use exclusion::{Exclusion, Weekday};
pub use parse::BadCron;
pub use timing::{Slot, Timing, When};
pub use zone::{BadZone, Change, Local, Zone};

#[cfg(test)]
mod excluded;
#[cfg(test)]
mod laws;
