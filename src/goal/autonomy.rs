use std::time::Duration;

use super::{Counts, Grant};
use crate::model::Autonomy;

/// No proposal holds shorter than this: more often nobody wants to sign.
pub const SHORTEST: Duration = Duration::from_hours(1);

/// Which way a proposal goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// More is allowed.
    Widen,
    /// Less is allowed.
    Tighten,
}

impl Way {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Widen => "widen",
            Self::Tighten => "tighten",
        }
    }
}

/// A proposal of what a goal may do by itself. It changes nothing: somebody must sign it.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Which way.
    pub way: Way,
    /// What is allowed.
    pub from: Grant,
    /// What is proposed.
    pub to: Grant,
    /// Why, in a sentence.
    pub why: String,
    /// The evidence.
    pub counts: Counts,
}

/// What is proposed after what people thought of the repairs under an approval, if anything is
/// (Silas 5.1.6, 5.9).
///
/// A step at most doubles what is allowed, or at least halves it. **Invariants:** nothing is
/// proposed of fewer repairs than `min_samples`; a proposal to widen is within `most_executions` and
/// `longest`, and one that goes beyond them already is never widened; what is proposed differs from
/// what is allowed; more corrections never lead to more being allowed.
pub fn advise(counts: &Counts, grant: Grant, limits: &Autonomy) -> Option<Advice> {
    if counts.repairs < limits.min_samples.max(1) {
        return None;
    }
    let rate = counts.rate();
    let (way, to, bound) = if rate > limits.tighten_above {
        (Way::Tighten, narrower(grant, limits), limits.tighten_above)
    } else if rate < limits.widen_below {
        (Way::Widen, wider(grant, limits)?, limits.widen_below)
    } else {
        return None;
    };
    let side = match way {
        Way::Widen => "below",
        Way::Tighten => "above",
    };
    let (bad, of) = (counts.bad(), counts.repairs);
    (to != grant).then(|| Advice {
        way,
        from: grant,
        to,
        why: format!("people stepped in for {bad} of {of} repairs: {side} {bound}"),
        counts: *counts,
    })
}

fn wider(grant: Grant, limits: &Autonomy) -> Option<Grant> {
    let most = (limits.most_executions, limits.longest);
    if grant.executions > most.0 || grant.validity > most.1 {
        return None;
    }
    Some(Grant {
        executions: grant.executions.saturating_mul(2).min(most.0),
        validity: grant.validity.saturating_mul(2).min(most.1),
    })
}

/// Half of what is allowed, as far as there is less.
pub fn narrower(grant: Grant, limits: &Autonomy) -> Grant {
    let half = Duration::from_secs(grant.validity.as_secs() / 2);
    Grant {
        executions: (grant.executions / 2).min(limits.most_executions).max(1),
        validity: half.min(limits.longest).max(SHORTEST).min(grant.validity),
    }
}

#[cfg(test)]
mod tests {
    use super::{SHORTEST, Way, advise};
    use crate::goal::{Counts, Grant};
    use crate::model::Autonomy;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};
    use std::time::Duration;

    fn counts(repairs: u32, corrected: u32) -> Counts {
        Counts {
            repairs,
            corrected,
            ..Counts::default()
        }
    }

    fn grant(executions: u32, hours: u64) -> Grant {
        Grant {
            executions,
            validity: Duration::from_hours(hours),
        }
    }

    #[test]
    fn what_is_proposed() {
        let limits = Autonomy::default();
        let of = |repairs, bad, from| {
            let advice = advise(&counts(repairs, bad), from, &limits);
            advice.map(|advice| (advice.way, advice.to))
        };
        let week = 7 * 24;
        let now = grant(10, week);
        let wider = Some((Way::Widen, grant(20, 2 * week)));
        let narrower = Some((Way::Tighten, grant(5, week / 2)));
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
        let capped = Some((Way::Widen, grant(100, 90 * 24)));
        assert_eq!(of(30, 0, grant(60, 50 * 24)), capped);
        assert_eq!(of(30, 0, grant(100, 90 * 24)), None, "at the caps");
        assert_eq!(of(30, 0, grant(101, 24)), None, "beyond a cap");
        assert_eq!(of(30, 30, grant(1, 1)), None, "there is no less");
        let least = Some((Way::Tighten, grant(1, 1)));
        assert_eq!(of(30, 30, grant(3, 1)), least);
        let over = Some((Way::Tighten, grant(100, 90 * 24)));
        assert_eq!(of(30, 30, grant(1000, 1000 * 24)), over);
    }

    fn limits() -> impl Strategy<Value = Autonomy> {
        (1_u32..60, 1_u32..50, 1_u32..50, 1_u32..300, 1_u64..3000).prop_map(
            |(min_samples, below, more, most_executions, hours)| Autonomy {
                min_samples,
                widen_below: f64::from(below) / 100.0,
                tighten_above: f64::from(below + more) / 100.0,
                most_executions,
                longest: Duration::from_hours(hours),
                ..Autonomy::default()
            },
        )
    }

    fn grants() -> impl Strategy<Value = Grant> {
        let validity = any::<u32>().prop_map(|ms| Duration::from_millis(u64::from(ms) + 1));
        (1_u32..1000, validity).prop_map(|(executions, validity)| Grant {
            executions,
            validity,
        })
    }

    proptest! {
        /// The caps hold, a step has its bounds, and few repairs say nothing.
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
            let to = advice.to;
            prop_assert!(to != from && advice.from == from && to.executions >= 1);
            match advice.way {
                Way::Widen => {
                    prop_assert!(to.executions <= limits.most_executions);
                    prop_assert!(to.validity <= limits.longest);
                    prop_assert!(to.executions >= from.executions && to.validity >= from.validity);
                    prop_assert!(to.executions <= 2 * from.executions);
                    prop_assert!(to.validity <= 2 * from.validity);
                }
                Way::Tighten => {
                    prop_assert!(to.executions <= (from.executions / 2).max(1));
                    prop_assert!(to.executions <= limits.most_executions);
                    prop_assert!(to.validity <= from.validity);
                    prop_assert!(to.validity <= (from.validity / 2).max(SHORTEST));
                }
            }
        }

        /// Whoever signs one proposal after another goes one way, and comes to an end: on the same
        /// counts it never swings.
        #[test]
        fn the_same_counts_never_swing(
            limits in limits(),
            from in grants(),
            repairs in 0_u32..200,
            bad in 0_u32..200,
        ) {
            let counts = counts(repairs, bad.min(repairs));
            let first = advise(&counts, from, &limits).map(|advice| advice.way);
            let mut grant = from;
            let mut steps = 0;
            while let Some(advice) = advise(&counts, grant, &limits) {
                prop_assert_eq!(Some(advice.way), first);
                grant = advice.to;
                steps += 1;
                prop_assert!(steps < 64);
            }
        }

        /// More corrections never lead to more being allowed.
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
                advise(&counts(repairs, bad), from, &limits).map_or(from, |advice| advice.to)
            };
            let (less, few) = (after(worse), after(bad));
            prop_assert!(less.executions <= few.executions && less.validity <= few.validity);
        }
    }
}
