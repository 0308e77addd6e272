use std::time::Duration;

use super::{OpinionCounts, StandingApprovalLimits};
use wf_base::keywords;
use wf_model::AutonomyThresholds;

/// The minimum validity of a proposal: below that, the approver would sign too often.
pub const SHORTEST: Duration = Duration::from_hours(1);

keywords! {
    /// The direction of a proposal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AutonomyDirection {
        /// More autonomy.
        Widen = "widen",
        /// Less autonomy.
        Tighten = "tighten",
    }
}

/// A proposal to change the autonomy of a goal. It takes effect only when the approver signs it.
#[derive(Clone, Debug, PartialEq)]
pub struct AutonomyProposal {
    pub direction: AutonomyDirection,
    /// The present grant.
    pub old_limits: StandingApprovalLimits,
    /// The proposed grant.
    pub new_limits: StandingApprovalLimits,
    /// The reason, in a sentence.
    pub reason: String,
    /// The evidence.
    pub counts: OpinionCounts,
}

/// Proposes a change of the grant from the opinions on the repairs under an approval, if one is due
/// (Silas 5.1.6, 5.9).
///
/// A step at most doubles the grant, or at least halves it. **Invariants:** fewer repairs than
/// `min_samples` lead to no proposal; a proposal to widen is within `most_executions` and `longest`,
/// and a grant that exceeds them already is never widened; a proposal differs from the present
/// grant; more corrections never lead to a wider grant.
pub fn advise(
    counts: &OpinionCounts,
    approved_limits: StandingApprovalLimits,
    thresholds: &AutonomyThresholds,
) -> Option<AutonomyProposal> {
    if counts.repairs < thresholds.min_samples.max(1) {
        return None;
    }
    let rate = counts.rate();
    let (way, new_limits, bound) = if rate > thresholds.tighten_above {
        (AutonomyDirection::Tighten, narrow(approved_limits, thresholds), thresholds.tighten_above)
    } else if rate < thresholds.widen_below {
        (AutonomyDirection::Widen, widen(approved_limits, thresholds)?, thresholds.widen_below)
    } else {
        return None;
    };
    let side = match way {
        AutonomyDirection::Widen => "below",
        AutonomyDirection::Tighten => "above",
    };
    let (bad, of) = (counts.interventions(), counts.repairs);
    (new_limits != approved_limits).then(|| AutonomyProposal {
        direction: way,
        old_limits: approved_limits,
        new_limits,
        reason: format!("{bad} of {of} repairs needed intervention: {side} {bound}"),
        counts: *counts,
    })
}

fn widen(
    approved_limits: StandingApprovalLimits,
    thresholds: &AutonomyThresholds,
) -> Option<StandingApprovalLimits> {
    let most = (thresholds.most_executions, thresholds.longest);
    if approved_limits.executions > most.0 || approved_limits.validity > most.1 {
        return None;
    }
    Some(StandingApprovalLimits {
        executions: approved_limits.executions.saturating_mul(2).min(most.0),
        validity: approved_limits.validity.saturating_mul(2).min(most.1),
    })
}

/// Halves a grant, within its lower bounds.
pub fn narrow(
    approved_limits: StandingApprovalLimits,
    thresholds: &AutonomyThresholds,
) -> StandingApprovalLimits {
    let half = Duration::from_secs(approved_limits.validity.as_secs() / 2);
    StandingApprovalLimits {
        executions: (approved_limits.executions / 2).min(thresholds.most_executions).max(1),
        validity: half.min(thresholds.longest).max(SHORTEST).min(approved_limits.validity),
    }
}

#[cfg(test)]
mod tests {
    use super::{AutonomyDirection, SHORTEST, advise};
    use crate::goal::{OpinionCounts, StandingApprovalLimits};
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
    use std::time::Duration;
    use wf_model::AutonomyThresholds;

    fn counts(repairs: u32, corrected: u32) -> OpinionCounts {
        OpinionCounts { repairs, corrected, ..OpinionCounts::default() }
    }

    fn grant(executions: u32, hours: u64) -> StandingApprovalLimits {
        StandingApprovalLimits { executions, validity: Duration::from_hours(hours) }
    }

    #[test]
    fn what_is_proposed() {
        let limits = AutonomyThresholds::default();
        let of = |repairs, bad, from| {
            let advice = advise(&counts(repairs, bad), from, &limits);
            advice.map(|advice| (advice.direction, advice.new_limits))
        };
        let week = 7 * 24;
        let now = grant(10, week);
        let wider = Some((AutonomyDirection::Widen, grant(20, 2 * week)));
        let narrower = Some((AutonomyDirection::Tighten, grant(5, week / 2)));
        for (repairs, bad, wanted) in [
            (29, 0, None),
            (29, 29, None),
            (30, 0, wider),
            (30, 1, wider),
            (40, 2, None),
            (30, 6, None),
            (30, 7, narrower),
            (30, 30, narrower),
        ] {
            assert_eq!(of(repairs, bad, now), wanted, "{bad} of {repairs}");
        }
        let capped = Some((AutonomyDirection::Widen, grant(100, 90 * 24)));
        assert_eq!(of(30, 0, grant(60, 50 * 24)), capped);
        assert_eq!(of(30, 0, grant(100, 90 * 24)), None, "at the caps");
        assert_eq!(of(30, 0, grant(101, 24)), None, "beyond a cap");
        assert_eq!(of(30, 30, grant(1, 1)), None, "there is no less");
        let least = Some((AutonomyDirection::Tighten, grant(1, 1)));
        assert_eq!(of(30, 30, grant(3, 1)), least);
        let over = Some((AutonomyDirection::Tighten, grant(100, 90 * 24)));
        assert_eq!(of(30, 30, grant(1000, 1000 * 24)), over);
    }

    fn limits() -> impl Strategy<Value = AutonomyThresholds> {
        (1_u32..60, 1_u32..50, 1_u32..50, 1_u32..300, 1_u64..3000).prop_map(
            |(min_samples, below, more, most_executions, hours)| AutonomyThresholds {
                min_samples,
                widen_below: f64::from(below) / 100.0,
                tighten_above: f64::from(below + more) / 100.0,
                most_executions,
                longest: Duration::from_hours(hours),
                ..AutonomyThresholds::default()
            },
        )
    }

    fn grants() -> impl Strategy<Value = StandingApprovalLimits> {
        let validity = any::<u32>().prop_map(|ms| Duration::from_millis(u64::from(ms) + 1));
        (1_u32..1000, validity)
            .prop_map(|(executions, validity)| StandingApprovalLimits { executions, validity })
    }

    proptest! {
        /// The caps hold, a step has its bounds, and too few repairs lead to no proposal.
        #[test]
        fn a_step_is_within_its_bounds(
            limits in limits(),
            from in grants(),
            repairs in 0_u32..200,
            bad in 0_u32..200,
        ) {
            let Some(advice) = advise(&counts(repairs, bad.min(repairs)), from, &limits) else {
                return Ok(());
            };
            prop_assert!(repairs >= limits.min_samples);
            let to = advice.new_limits;
            prop_assert!(to != from && advice.old_limits == from && to.executions >= 1);
            match advice.direction {
                AutonomyDirection::Widen => {
                    prop_assert!(to.executions <= limits.most_executions);
                    prop_assert!(to.validity <= limits.longest);
                    prop_assert!(to.executions >= from.executions && to.validity >= from.validity);
                    prop_assert!(to.executions <= 2 * from.executions);
                    prop_assert!(to.validity <= 2 * from.validity);
                }
                AutonomyDirection::Tighten => {
                    prop_assert!(to.executions <= (from.executions / 2).max(1));
                    prop_assert!(to.executions <= limits.most_executions);
                    prop_assert!(to.validity <= from.validity);
                    prop_assert!(to.validity <= (from.validity / 2).max(SHORTEST));
                }
            }
        }

        /// Signing one proposal after another leads in one direction, and to an end: with the same
        /// counts it never oscillates.
        #[test]
        fn the_same_counts_never_swing(
            limits in limits(),
            from in grants(),
            repairs in 0_u32..200,
            bad in 0_u32..200,
        ) {
            let counts = counts(repairs, bad.min(repairs));
            let first = advise(&counts, from, &limits).map(|advice| advice.direction);
            let mut grant = from;
            let mut steps = 0;
            while let Some(advice) = advise(&counts, grant, &limits) {
                prop_assert_eq!(Some(advice.direction), first);
                grant = advice.new_limits;
                steps += 1;
                prop_assert!(steps < 64);
            }
        }

        /// More corrections never lead to a wider grant.
        #[test]
        fn more_corrections_never_allow_more(
            limits in limits(),
            from in grants(),
            repairs in 1_u32..200,
            bad in 0_u32..200,
            more in 0_u32..200,
        ) {
            let bad = bad.min(repairs);
            let worse = (bad + more).min(repairs);
            let after = |bad| {
                advise(&counts(repairs, bad), from, &limits).map_or(from, |advice| advice.new_limits)
            };
            let (less, few) = (after(worse), after(bad));
            prop_assert!(less.executions <= few.executions && less.validity <= few.validity);
        }
    }
}
