use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::known::instant_before;
use wf_base::{keywords, time::Moment};
use wf_model::AutonomyThresholds;

keywords! {
    /// The user's opinion on a repair.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RepairOpinion {
        /// It was right. A repair without feedback counts as right.
        Fine = "fine",
        /// The user had to correct its result.
        Corrected = "corrected",
        /// The user undid its result.
        Undone = "undone",
        /// The user denied its question.
        Declined = "declined",
    }
}

/// The grant of a goal's standing approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandingApprovalLimits {
    /// The number of repairs.
    pub executions: u32,
    /// The validity from the time of signing.
    pub validity: Duration,
}

/// A repair, and the opinion on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairSample {
    /// The time of its start.
    pub at: Moment,
    /// The grant of the approval it was done under; `None`: it needed none.
    pub limits: Option<StandingApprovalLimits>,
    /// The opinion; `None`: there was no feedback.
    pub opinion: Option<RepairOpinion>,
}

/// The number of repairs of a goal by opinion. The goal is the family of actions.
///
/// A failed repair is not a correction: its checks have reported that already, the goal is paused
/// when too many fail in a row, and only the user knows of a wrong action. Silas also counts user
/// actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpinionCounts {
    pub repairs: u32,
    /// The number of corrected repairs.
    pub corrected: u32,
    /// The number of declined repairs.
    pub declined: u32,
    /// The number of undone repairs.
    pub undone: u32,
    /// The start of the first and the last of them; `None`: there is none.
    pub period: Option<(Moment, Moment)>,
}

impl OpinionCounts {
    /// Returns the number of repairs in which the user intervened.
    pub fn interventions(&self) -> u32 {
        self.corrected + self.declined + self.undone
    }

    /// Returns the correction rate, from 0 to 1; 0 without repairs (Silas 5.9).
    pub fn rate(&self) -> f64 {
        f64::from(self.interventions()) / f64::from(self.repairs.max(1))
    }
}

/// Returns the maximum number of repairs considered: enough to be sure, few enough that old results
/// do not outweigh present problems.
pub fn most_samples(thresholds: &AutonomyThresholds) -> u32 {
    thresholds.min_samples.saturating_mul(4)
}

/// Counts the evidence about the present grant, from the repairs of a goal, newest first.
///
/// The window goes back [`most_samples`] repairs, at most the time of the limits, and never to a repair under
/// an approval with another grant, so the same repairs do not justify one step after another. Each grant must
/// prove itself.
pub fn count_samples(
    samples: impl IntoIterator<Item = RepairSample>,
    approved_limits: Option<StandingApprovalLimits>,
    thresholds: &AutonomyThresholds,
    now: Moment,
) -> OpinionCounts {
    let oldest = instant_before(now, thresholds.window);
    let within = samples
        .into_iter()
        .take_while(|sample| sample.at >= oldest && sample.limits == approved_limits)
        .take(usize::try_from(most_samples(thresholds)).unwrap_or(usize::MAX));
    let mut counts = OpinionCounts::default();
    for sample in within {
        counts.repairs += 1;
        match sample.opinion {
            None | Some(RepairOpinion::Fine) => {}
            Some(RepairOpinion::Corrected) => counts.corrected += 1,
            Some(RepairOpinion::Undone) => counts.undone += 1,
            Some(RepairOpinion::Declined) => counts.declined += 1,
        }
        let last = counts.period.map_or(sample.at, |(_, last)| last);
        counts.period = Some((sample.at, last));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::{OpinionCounts, RepairOpinion, RepairSample, StandingApprovalLimits, count_samples};
    use std::time::Duration;
    use wf_base::time::Moment;
    use wf_model::AutonomyThresholds;

    const DAY: i64 = 86_400_000;

    fn grant(executions: u32) -> StandingApprovalLimits {
        let validity = Duration::from_hours(24);
        StandingApprovalLimits { executions, validity }
    }

    fn sample(day: i64, executions: u32, opinion: Option<RepairOpinion>) -> RepairSample {
        RepairSample { at: Moment::from_millis(day * DAY), limits: Some(grant(executions)), opinion }
    }

    fn count(samples: &[RepairSample], thresholds: &AutonomyThresholds) -> OpinionCounts {
        let now = Moment::from_millis(100 * DAY);
        count_samples(samples.iter().copied(), Some(grant(10)), thresholds, now)
    }

    #[test]
    fn each_opinion_has_its_number_and_silence_is_none() {
        let samples = [
            sample(99, 10, None),
            sample(98, 10, Some(RepairOpinion::Corrected)),
            sample(97, 10, Some(RepairOpinion::Fine)),
            sample(96, 10, Some(RepairOpinion::Undone)),
            sample(95, 10, Some(RepairOpinion::Declined)),
        ];
        let counts = count(&samples, &AutonomyThresholds::default());
        let when = (Moment::from_millis(95 * DAY), Moment::from_millis(99 * DAY));
        let wanted = OpinionCounts { repairs: 5, corrected: 1, declined: 1, undone: 1, period: Some(when) };
        assert_eq!((counts, counts.interventions()), (wanted, 3));
        assert!((counts.rate() - 0.6).abs() < 1e-9);
    }

    #[test]
    fn the_window_ends_where_it_is_too_old_or_too_full_or_another_approval_held() {
        let limits = AutonomyThresholds::default();
        let old = [sample(99, 10, None), sample(9, 10, None)];
        assert_eq!(count(&old, &limits).repairs, 1, "91 days ago");
        let kept = [sample(99, 10, None), sample(10, 10, None)];
        assert_eq!(count(&kept, &limits).repairs, 2, "90 days ago");
        // Repairs before another grant do not count either, even if theirs was the same.
        let other = [10, 10, 20, 10].map(|executions| sample(99, executions, None));
        assert_eq!(count(&other, &limits).repairs, 2);
        assert_eq!(count(&[sample(99, 20, None)], &limits), OpinionCounts::default());
        let few = AutonomyThresholds { min_samples: 2, ..limits };
        assert_eq!(count(&[sample(99, 10, None); 50], &few).repairs, 8);
        assert!(OpinionCounts::default().rate().abs() < f64::EPSILON);
    }
}
