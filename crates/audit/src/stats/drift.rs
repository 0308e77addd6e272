use serde::{Deserialize, Serialize};

/// The minimum number of earlier runs of a plan before drift is reported.
const EARLIER: u64 = 3;

/// The minimum fall of the pass rate, in hundredths.
const FALL: u64 = 20;

/// The minimum factor of a slowdown, and its minimum in milliseconds.
const SLOWER: (u64, u64) = (2, 1000);

/// The sums over the runs of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanSums {
    /// The number of runs that ended.
    pub runs: u64,
    /// The total duration, in milliseconds.
    pub millis: u64,
    /// The number of criteria judged.
    pub judged: u64,
    /// The number of criteria that passed.
    pub passed: u64,
}

/// A change in the results of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum PlanDrift {
    /// The share of criteria that pass has fallen, in hundredths.
    PassRate {
        /// The plan.
        plan: String,
        /// The value before.
        before: u64,
        /// The value in this window.
        now: u64,
    },
    /// The duration of a run has grown, in milliseconds.
    Duration {
        /// The plan.
        plan: String,
        /// The value before.
        before: u64,
        /// The value in this window.
        now: u64,
    },
}

impl PlanSums {
    /// Adds the sums of another.
    pub(super) fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.millis += other.millis;
        self.judged += other.judged;
        self.passed += other.passed;
    }

    fn rate(&self) -> Option<u64> {
        (self.passed * 100).checked_div(self.judged)
    }

    fn mean(&self) -> Option<u64> {
        self.millis.checked_div(self.runs)
    }

    /// Returns the differences of this window from the earlier runs.
    pub(super) fn drift(&self, plan: &str, before: &Self) -> Vec<PlanDrift> {
        let mut drift = Vec::new();
        if before.runs < EARLIER {
            return drift;
        }
        let plan = plan.to_owned();
        if let (Some(before), Some(now)) = (before.rate(), self.rate())
            && now + FALL <= before
        {
            let plan = plan.clone();
            drift.push(PlanDrift::PassRate { plan, before, now });
        }
        if let (Some(before), Some(now)) = (before.mean(), self.mean())
            && now >= before.saturating_mul(SLOWER.0)
            && now >= before + SLOWER.1
        {
            drift.push(PlanDrift::Duration { plan, before, now });
        }
        drift
    }
}

#[cfg(test)]
mod tests {
    use super::{PlanDrift, PlanSums};

    #[test]
    fn a_plan_drifts_only_beside_enough_of_a_past() {
        let sums = |runs, millis, judged, passed| PlanSums { runs, millis, judged, passed };
        let now = sums(1, 5000, 10, 5);
        assert_eq!(now.drift("p", &sums(2, 2000, 20, 20)), []);
        let plan = "p".to_owned();
        let rate = PlanDrift::PassRate { plan: plan.clone(), before: 100, now: 50 };
        let slow = PlanDrift::Duration { plan, before: 1000, now: 5000 };
        assert_eq!(now.drift("p", &sums(3, 3000, 20, 20)), [rate, slow]);
        assert_eq!(now.drift("p", &sums(3, 12_900, 20, 13)), []);
    }
}
