use serde::{Deserialize, Serialize};

use crate::model::{GoalNews, OnUnmet};
use crate::time::Moment;

/// Which run of a cycle one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The checks alone.
    Look,
    /// The steps that repair, and then the checks.
    Repair,
}

impl Part {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Look => "look",
            Self::Repair => "repair",
        }
    }
}

/// How a goal is, as its last cycle found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// The state is as desired.
    Healthy,
    /// It was not, and a repair made it so.
    Repaired,
    /// It is not.
    Failed,
    /// It is not, and a repair waits for people.
    Waiting,
    /// Nobody knows: the checks could not be made.
    Unknown,
    /// The cycle was cancelled.
    Cancelled,
}

impl Health {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::Healthy,
        Self::Repaired,
        Self::Failed,
        Self::Waiting,
        Self::Unknown,
        Self::Cancelled,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Repaired => "repaired",
            Self::Failed => "failed",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the state is as desired.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Healthy | Self::Repaired)
    }

    /// Whether it counts as a failed cycle, of which too many in a row pause a goal.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Unknown)
    }
}

/// What a look found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Whether every check held.
    pub holds: bool,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// The checks that do not hold.
    pub refuted: Vec<String>,
    /// The checks that could not be made.
    pub unable: Vec<String>,
    /// Why the run failed, in its own words.
    pub why: String,
}

/// What became of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// Its checks hold.
    Done,
    /// It ended, and they do not; why.
    Failed(String),
    /// It may not begin, or waits for an answer; why.
    Waits(String),
    /// It was cancelled.
    Cancelled,
}

/// How a cycle ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How the goal is.
    pub health: Health,
    /// Why, in a few words; none if it is as desired.
    pub why: String,
}

/// How a cycle goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// With a repair.
    Repair,
    /// It has ended.
    End(Verdict),
}

/// How a cycle goes on after its look, and after its repair if there was one (Silas 5.2.3). Only
/// what a check refuted is repaired: where no check could be made nobody knows, and that is said.
pub fn concluded(rule: OnUnmet, looked: &Looked, repaired: Option<&Repaired>) -> Next {
    let end = |health, why: String| Next::End(Verdict { health, why });
    if looked.holds {
        return end(Health::Healthy, String::new());
    }
    if looked.cancelled {
        return end(Health::Cancelled, "the look was cancelled".into());
    }
    if looked.refuted.is_empty() {
        let why = match looked.unable.as_slice() {
            [] => looked.why.clone(),
            unable => format!("could not be checked: {}", unable.join(", ")),
        };
        return end(Health::Unknown, why);
    }
    let refuted = format!("does not hold: {}", looked.refuted.join(", "));
    match (repaired, rule) {
        (None, OnUnmet::Report) => end(Health::Failed, refuted),
        (None, OnUnmet::SpawnPlan) => Next::Repair,
        (Some(Repaired::Done), _) => end(Health::Repaired, refuted),
        (Some(Repaired::Failed(why)), _) => end(
            Health::Failed,
            format!("{refuted}; the repair failed: {why}"),
        ),
        (Some(Repaired::Waits(why)), _) => end(
            Health::Waiting,
            format!("{refuted}; the repair waits: {why}"),
        ),
        (Some(Repaired::Cancelled), _) => end(
            Health::Cancelled,
            format!("{refuted}; the repair was cancelled"),
        ),
    }
}

/// How many of the latest cycles failed in a row, newest first, each with when it ended. Those that ended
/// before the goal was last resumed do not count: whoever resumed it knew of them. One that was
/// cancelled says nothing about the goal.
pub fn failed_in_a_row(
    ends: impl Iterator<Item = (Moment, Health)>,
    resumed: Option<Moment>,
) -> usize {
    let later = ends.filter(|(at, _)| resumed.is_none_or(|resumed| *at > resumed));
    let told = later.filter(|(_, health)| *health != Health::Cancelled);
    told.take_while(|(_, health)| health.is_failure()).count()
}

/// What is to be told when a goal goes from one condition to another. Nothing is told of what goes
/// on as it was; that something was repaired is always told.
pub fn news(before: Option<Health>, after: Health) -> Option<GoalNews> {
    let was_bad = before.is_some_and(Health::is_failure);
    match after {
        Health::Repaired => Some(GoalNews::Repaired),
        Health::Healthy => before
            .is_some_and(|before| !before.is_good() && before != Health::Cancelled)
            .then_some(GoalNews::Healthy),
        Health::Failed | Health::Unknown => (!was_bad).then_some(GoalNews::Failed),
        Health::Waiting => (before != Some(Health::Waiting)).then_some(GoalNews::Waiting),
        Health::Cancelled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Health, failed_in_a_row};
    use crate::time::Moment;

    #[test]
    fn only_failures_after_a_pause_count_and_a_cancelled_cycle_says_nothing() {
        use Health::{Cancelled, Failed, Healthy, Unknown};
        let count = |healths: &[Health], resumed: Option<i64>| {
            // The newest ended at 10, the one before at 9.
            let ends = (0..).map(|at| Moment::from_millis(10 - at));
            let ends = ends.zip(healths.iter().copied());
            failed_in_a_row(ends, resumed.map(Moment::from_millis))
        };
        assert_eq!(count(&[], None), 0);
        assert_eq!(count(&[Failed, Unknown, Failed, Healthy, Failed], None), 3);
        assert_eq!(count(&[Failed, Cancelled, Failed, Healthy], None), 2);
        assert_eq!(count(&[Cancelled, Failed], None), 1);
        assert_eq!(count(&[Failed, Failed, Failed], Some(8)), 2);
        assert_eq!(count(&[Failed, Failed, Failed], Some(10)), 0);
    }
}
