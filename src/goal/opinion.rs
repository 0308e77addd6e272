use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::known::before;
use crate::model::Autonomy;
use crate::time::Moment;

/// What people thought of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opinion {
    /// It was right. So is one about which nobody says anything.
    Fine,
    /// Somebody had to correct what it did.
    Corrected,
    /// Somebody undid what it did.
    Undone,
    /// It asked, and somebody said no.
    Declined,
}

impl Opinion {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Corrected => "corrected",
            Self::Undone => "undone",
            Self::Declined => "declined",
        }
    }
}

/// What a standing approval of a goal allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// How many repairs.
    pub executions: u32,
    /// From when it is signed for how long.
    pub validity: Duration,
}

/// A repair, and what people thought of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it began.
    pub at: Moment,
    /// What the approval allowed that it was done under; `None`: it needed none.
    pub grant: Option<Grant>,
    /// What people thought; `None`: nobody said anything.
    pub opinion: Option<Opinion>,
}

/// What people thought of the repairs of a goal, in numbers. The goal is the family of actions.
///
/// A repair that failed is no correction: its checks have told that already, the goal pauses by
/// itself when too many fail in a row, and only people know whether it did something that it should
/// not have done. Silas counts what people did, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many repairs.
    pub repairs: u32,
    /// How many somebody had to correct.
    pub corrected: u32,
    /// How many were declined.
    pub declined: u32,
    /// How many were undone.
    pub undone: u32,
    /// When the first and the last of them began; `None`: there is none.
    pub when: Option<(Moment, Moment)>,
}

impl Counts {
    /// How many people had to step in for.
    pub fn bad(&self) -> u32 {
        self.corrected + self.declined + self.undone
    }

    /// The correction rate, from 0 to 1; of no repairs it is 0 (Silas 5.9).
    pub fn rate(&self) -> f64 {
        f64::from(self.bad()) / f64::from(self.repairs.max(1))
    }
}

/// How many repairs are looked at, at most: enough to be sure, few enough that what is long past
/// does not outweigh what goes wrong now.
pub fn most_samples(limits: &Autonomy) -> u32 {
    limits.min_samples.saturating_mul(4)
}

/// Counts the evidence about what is allowed now, from the repairs of a goal, newest first.
///
/// The window goes back [`most_samples`] repairs, at most the time of the limits, and never to a
/// repair that was done under an approval of another extent: so that the same repairs do not speak
/// for one step after another. Each extent must prove itself.
pub fn counted(
    samples: impl IntoIterator<Item = Sample>,
    grant: Option<Grant>,
    limits: &Autonomy,
    now: Moment,
) -> Counts {
    let oldest = before(now, limits.window);
    let within = samples
        .into_iter()
        .take_while(|sample| sample.at >= oldest && sample.grant == grant)
        .take(usize::try_from(most_samples(limits)).unwrap_or(usize::MAX));
    let mut counts = Counts::default();
    for sample in within {
        counts.repairs += 1;
        match sample.opinion {
            None | Some(Opinion::Fine) => {}
            Some(Opinion::Corrected) => counts.corrected += 1,
            Some(Opinion::Undone) => counts.undone += 1,
            Some(Opinion::Declined) => counts.declined += 1,
        }
        let last = counts.when.map_or(sample.at, |(_, last)| last);
        counts.when = Some((sample.at, last));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::{Counts, Grant, Opinion, Sample, counted};
    use crate::model::Autonomy;
    use crate::time::Moment;
    use std::time::Duration;

    const DAY: i64 = 86_400_000;

    fn grant(executions: u32) -> Grant {
        let validity = Duration::from_hours(24);
        Grant {
            executions,
            validity,
        }
    }

    fn sample(day: i64, executions: u32, opinion: Option<Opinion>) -> Sample {
        Sample {
            at: Moment::from_millis(day * DAY),
            grant: Some(grant(executions)),
            opinion,
        }
    }

    fn count(samples: &[Sample], limits: &Autonomy) -> Counts {
        let now = Moment::from_millis(100 * DAY);
        counted(samples.iter().copied(), Some(grant(10)), limits, now)
    }

    #[test]
    fn each_opinion_has_its_number_and_silence_is_none() {
        let samples = [
            sample(99, 10, None),
            sample(98, 10, Some(Opinion::Corrected)),
            sample(97, 10, Some(Opinion::Fine)),
            sample(96, 10, Some(Opinion::Undone)),
            sample(95, 10, Some(Opinion::Declined)),
        ];
        let counts = count(&samples, &Autonomy::default());
        let when = (Moment::from_millis(95 * DAY), Moment::from_millis(99 * DAY));
        let wanted = Counts {
            repairs: 5,
            corrected: 1,
            declined: 1,
            undone: 1,
            when: Some(when),
        };
        assert_eq!((counts, counts.bad()), (wanted, 3));
        assert!((counts.rate() - 0.6).abs() < 1e-9);
    }

    #[test]
    fn the_window_ends_where_it_is_too_old_or_too_full_or_another_approval_held() {
        let limits = Autonomy::default();
        let old = [sample(99, 10, None), sample(9, 10, None)];
        assert_eq!(count(&old, &limits).repairs, 1, "91 days ago");
        let kept = [sample(99, 10, None), sample(10, 10, None)];
        assert_eq!(count(&kept, &limits).repairs, 2, "90 days ago");
        // What was before another extent does not count either, even if it was of the same.
        let other = [10, 10, 20, 10].map(|executions| sample(99, executions, None));
        assert_eq!(count(&other, &limits).repairs, 2);
        assert_eq!(count(&[sample(99, 20, None)], &limits), Counts::default());
        let few = Autonomy {
            min_samples: 2,
            ..limits
        };
        assert_eq!(count(&[sample(99, 10, None); 50], &few).repairs, 8);
        assert!(Counts::default().rate().abs() < f64::EPSILON);
    }
}
