use serde::{Deserialize, Serialize};

/// How many runs of a plan there must have been before it is said to drift.
const EARLIER: u64 = 3;

/// By how many hundredths its pass rate must fall.
const FALL: u64 = 20;

/// How many times longer it must take, and by how many milliseconds at least.
const SLOWER: (u64, u64) = (2, 1000);

/// What a plan did.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct PlanSums {
    /// Runs that ended.
    pub runs: u64,
    /// How long they took, in milliseconds.
    pub millis: u64,
    /// How many criteria were ruled on.
    pub judged: u64,
    /// How many of them held.
    pub passed: u64,
}

/// A plan that does otherwise than it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Drift {
    /// Fewer of its criteria hold, in hundredths.
    PassRate {
        /// The plan.
        plan: String,
        /// Before.
        before: u64,
        /// In this window.
        now: u64,
    },
    /// It takes longer, in milliseconds a run.
    Duration {
        /// The plan.
        plan: String,
        /// Before.
        before: u64,
        /// In this window.
        now: u64,
    },
}

impl PlanSums {
    /// Adds another.
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

    /// How this window differs from what was before.
    pub(super) fn drift(&self, plan: &str, before: &Self) -> Vec<Drift> {
        let mut drift = Vec::new();
        if before.runs < EARLIER {
            return drift;
        }
        let plan = plan.to_owned();
        if let (Some(before), Some(now)) = (before.rate(), self.rate())
            && now + FALL <= before
        {
            let plan = plan.clone();
            drift.push(Drift::PassRate { plan, before, now });
        }
        if let (Some(before), Some(now)) = (before.mean(), self.mean())
            && now >= before.saturating_mul(SLOWER.0)
            && now >= before + SLOWER.1
        {
            drift.push(Drift::Duration { plan, before, now });
        }
        drift
    }
}

#[cfg(test)]
mod tests {
    use super::{Drift, PlanSums};

    #[test]
    fn a_plan_drifts_only_beside_enough_of_a_past() {
        let sums = |runs, millis, judged, passed| PlanSums {
            runs,
            millis,
            judged,
            passed,
        };
        let now = sums(1, 5000, 10, 5);
        assert_eq!(now.drift("p", &sums(2, 2000, 20, 20)), []);
        let plan = "p".to_owned();
        let rate = Drift::PassRate {
            plan: plan.clone(),
            before: 100,
            now: 50,
        };
        let slow = Drift::Duration {
            plan,
            before: 1000,
            now: 5000,
        };
        assert_eq!(now.drift("p", &sums(3, 3000, 20, 20)), [rate, slow]);
        assert_eq!(now.drift("p", &sums(3, 12_900, 20, 13)), []);
    }
}
