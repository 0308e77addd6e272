use std::time::Duration;

use serde::{Deserialize, Serialize};

use wf_model::ReplanSettings;

/// The scale of numbers, which are compared and stored with six decimals.
const SCALE: f64 = 1e6;

/// The largest number; all beyond count as this. It has six decimals.
const MOST: f64 = 1e9;

/// The measures of a round. Each number is from 0 to 1; others are clamped, and for NaN see
/// [`loss()`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RoundMeasures {
    /// D: the distance of the result from the goal.
    pub d: f64,
    /// P: the share of the failures that are due to the approach.
    pub p: f64,
    /// Ω: the share of the budget that is used up.
    pub omega: f64,
}

/// The loss of a round, and its parts (artoo v0.8, The Loss Function).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RoundLoss {
    /// D: the distance of the result from the goal, from 0 to 1.
    pub d: f64,
    /// P: the share of the failures that are due to the approach, from 0 to 1.
    pub p: f64,
    /// Ω: the share of the budget that is used up, from 0 to 1.
    pub omega: f64,
    /// L = αD + β(1 − Ω)P + λΩ, from 0 to the sum of the weights.
    pub l: f64,
}

/// Returns P: the share of the failures that are wrong results, not failures of the environment.
/// Without any failure it is 0: an approach is not condemned without evidence.
pub fn process(logical: u32, environmental: u32) -> f64 {
    let all = f64::from(logical) + f64::from(environmental);
    if all == 0.0 {
        return 0.0;
    }
    rounded(f64::from(logical) / all)
}

/// Returns Ω: the share of the budget used up by `replans` rounds after the first and by the time since the
/// first began. Each of the two counts at most once in full, so neither can stand for the other; an empty
/// budget is used up. When both are, Ω is 1 whatever their weights: every budget has an end.
pub fn resource(replan: &ReplanSettings, replans: u32, elapsed: Duration) -> f64 {
    let rounds = used_share(f64::from(replans), f64::from(replan.max_replans));
    let time = used_share(elapsed.as_secs_f64(), replan.time_budget.as_secs_f64());
    if rounds >= 1.0 && time >= 1.0 {
        return 1.0;
    }
    let used = clamp_unit(replan.w1 * rounds, 1.0) + clamp_unit(replan.w2 * time, 1.0);
    rounded(clamp_unit(used, 1.0))
}

/// Returns D: the failures, each by its confidence (1 for a certain check, k/N for one that failed
/// k of N times), among all criteria. Without criteria and failures it is 0.
pub fn distance(weighted_failures: f64, criteria: u32) -> f64 {
    let failures = if weighted_failures.is_nan() { f64::INFINITY } else { weighted_failures.max(0.0) };
    if failures == 0.0 {
        return 0.0;
    }
    round_distance(failures / f64::from(criteria))
}

/// Returns the loss of a round. NaN counts as all of D (nothing is shown to pass), none of P
/// (nothing condemns the approach) and all of Ω (nothing shows that there is budget left).
pub fn loss(replan: &ReplanSettings, measures: RoundMeasures) -> RoundLoss {
    let d = round_distance(measures.d);
    let p = rounded(clamp_unit(measures.p, 0.0));
    let omega = rounded(clamp_unit(measures.omega, 1.0));
    let l = replan.alpha * d + replan.beta * (1.0 - omega) * p + replan.lambda * omega;
    RoundLoss { d, p, omega, l: rounded(l) }
}

/// Rounds a number to six decimals, clamped to the largest; 0 for NaN.
pub(super) fn rounded(number: f64) -> f64 {
    if number.is_nan() {
        return 0.0;
    }
    let few = (number.clamp(-MOST, MOST) * SCALE).round() / SCALE;
    // There is only one zero.
    few + 0.0
}

/// Rounds a distance to six decimals. One that is not zero never becomes zero: that would mean that
/// everything passes.
fn round_distance(distance: f64) -> f64 {
    let distance = clamp_unit(distance, 1.0);
    if distance > 0.0 { rounded(distance).max(SCALE.recip()) } else { 0.0 }
}

/// Clamps a number to 0 to 1; `other` for NaN.
fn clamp_unit(number: f64, other: f64) -> f64 {
    if number.is_nan() { other } else { number.clamp(0.0, 1.0) }
}

/// Returns the share of something used, from 0 to 1. An empty whole is used up.
fn used_share(used: f64, all: f64) -> f64 {
    if all > 0.0 { clamp_unit(used / all, 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::{RoundLoss, RoundMeasures, distance, loss, process, resource};
    use std::time::Duration;
    use wf_model::ReplanSettings;

    fn same(found: f64, wanted: f64) {
        assert_eq!(found.to_bits(), wanted.to_bits(), "{found} {wanted}");
    }

    #[test]
    fn an_approach_is_condemned_by_the_share_of_wrong_results() {
        for (logical, environmental, p) in [
            (0, 0, 0.0),
            (0, 4, 0.0),
            (4, 0, 1.0),
            (1, 1, 0.5),
            (1, 2, 0.333_333),
            (2, 1, 0.666_667),
            (u32::MAX, u32::MAX, 0.5),
        ] {
            same(process(logical, environmental), p);
        }
    }

    #[test]
    fn a_budget_is_used_up_by_rounds_and_by_time() {
        let plain = ReplanSettings::default();
        for (replans, seconds, omega) in [
            (0, 0, 0.0),
            (1, 0, 0.2),
            (0, 75, 0.1),
            (3, 0, 0.6),
            (0, 300, 0.4),
            // Neither stands for the other, however much of it is used.
            (30, 0, 0.6),
            (0, 30_000, 0.4),
            // 0.6 · 2/3 + 0.4 is 0.8, and not a little less.
            (2, 300, 0.8),
            (3, 300, 1.0),
            (u32::MAX, u64::MAX, 1.0),
        ] {
            same(resource(&plain, replans, Duration::from_secs(seconds)), omega);
        }
    }

    #[test]
    fn of_a_budget_of_nothing_everything_is_used() {
        let no_rounds = ReplanSettings { max_replans: 0, ..ReplanSettings::default() };
        same(resource(&no_rounds, 0, Duration::ZERO), 0.6);
        let no_time = ReplanSettings { time_budget: Duration::ZERO, ..ReplanSettings::default() };
        same(resource(&no_time, 0, Duration::ZERO), 0.4);
    }

    #[test]
    fn every_budget_has_an_end() {
        let light = ReplanSettings { w1: 0.0, w2: 0.1, ..ReplanSettings::default() };
        same(resource(&light, 2, Duration::from_mins(5)), 0.1);
        same(resource(&light, 3, Duration::from_mins(5)), 1.0);
    }

    #[test]
    fn each_part_of_the_cost_ends_at_one() {
        let heavy = ReplanSettings { w1: 50.0, w2: 0.25, ..ReplanSettings::default() };
        same(resource(&heavy, 1, Duration::ZERO), 1.0);
        same(resource(&heavy, 0, Duration::from_secs(150)), 0.125);
    }

    #[test]
    fn the_distance_is_the_share_of_what_failed() {
        for (failures, criteria, d) in [
            (0.0, 0, 0.0),
            (0.0, 4, 0.0),
            (1.0, 4, 0.25),
            (4.0, 4, 1.0),
            (1.0, 3, 0.333_333),
            (1.5, 2, 0.75),
            (9.0, 4, 1.0),
            (1.0, 0, 1.0),
            (-1.0, 4, 0.0),
            (f64::NAN, 4, 1.0),
            (f64::INFINITY, 4, 1.0),
        ] {
            same(distance(failures, criteria), d);
        }
    }

    #[test]
    fn the_least_failure_is_still_one() {
        same(distance(1.0, u32::MAX), 0.000_001);
        let least = RoundMeasures { d: 1e-300, p: 0.0, omega: 0.0 };
        same(loss(&ReplanSettings::default(), least).d, 0.000_001);
    }

    #[test]
    fn the_approach_weighs_less_as_the_budget_is_used_up() {
        let found = |d, p, omega| loss(&ReplanSettings::default(), RoundMeasures { d, p, omega });
        let parts = |d, p, omega, l| RoundLoss { d, p, omega, l };
        assert_eq!(found(0.5, 1.0, 0.0), parts(0.5, 1.0, 0.0, 0.6));
        assert_eq!(found(0.5, 1.0, 0.5), parts(0.5, 1.0, 0.5, 0.65));
        assert_eq!(found(0.5, 1.0, 1.0), parts(0.5, 1.0, 1.0, 0.7));
        assert_eq!(found(0.0, 0.0, 0.0), parts(0.0, 0.0, 0.0, 0.0));
        assert_eq!(found(1.0, 1.0, 1.0), parts(1.0, 1.0, 1.0, 1.0));
    }

    #[test]
    fn what_is_no_measure_is_taken_for_one() {
        let found = |d, p, omega| {
            let loss = loss(&ReplanSettings::default(), RoundMeasures { d, p, omega });
            (loss.d, loss.p, loss.omega)
        };
        let none = f64::NAN;
        assert_eq!(found(none, none, none), (1.0, 0.0, 1.0));
        assert_eq!(found(-1.0, -1.0, -1.0), (0.0, 0.0, 0.0));
        assert_eq!(found(7.0, 7.0, 7.0), (1.0, 1.0, 1.0));
        let far = f64::INFINITY;
        assert_eq!(found(far, far, far), (1.0, 1.0, 1.0));
        assert_eq!(found(-far, -far, -far), (0.0, 0.0, 0.0));
    }
}
