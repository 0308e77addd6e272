use serde::{Deserialize, Serialize};

/// What becomes of a time that a clock going forward passes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// It does not come on that day.
    Skip,
    /// It comes at the instant the clock goes forward; once, however many were passed over.
    #[default]
    RunAtTransition,
}

/// When a time comes that a clock going back shows twice.
///
/// It is about times of the day (`30 1 * * *`). An interval (`*/10 * * * *`, see
/// [`super::Cron::is_interval`]) goes on through both passes under each of them: it would
/// otherwise pause for as long as the clock went back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// The first time.
    #[default]
    First,
    /// The last time.
    Last,
    /// Each time.
    Both,
}

/// What happens on the days when clocks are changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dst {
    /// A time that does not exist.
    pub gap: Gap,
    /// A time that exists twice.
    pub overlap: Fold,
}

/// What a change of clocks has to do with a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstNote {
    /// It is there in place of a time that was passed over; it would not be due otherwise.
    AtTransition,
    /// Its time comes again.
    FirstPass,
    /// Its time was there before.
    SecondPass,
}
