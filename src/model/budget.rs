use serde::{Deserialize, Serialize};

use super::Money;

/// What a run may use up at most, over all its attempts and however often it is resumed
/// (DESIGN section 3, `budget`; Silas 5.2.1: reaching a limit counts as spent).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Budget {
    /// The most attempts that begin; retries and those of nested runs are attempts, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The most rounds of replanning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The longest that the run may take from its beginning, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_wall_time_ms: Option<u64>,
    /// The most tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most money, in millionths of a US dollar.
    #[serde(
        default,
        rename = "max_cost_micro_usd",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_cost: Option<Money>,
    /// The share of each limit that steps leave for checks, `finally` steps and the report, in
    /// millionths.
    pub reserve_ppm: u32,
    /// Whether a run that makes progress has more time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

/// What a budget limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Attempts, a number.
    Attempts,
    /// Rounds of replanning, a number.
    Rounds,
    /// Time since the run began, in milliseconds.
    WallTime,
    /// Tokens, a number.
    Tokens,
    /// Money, in millionths of a US dollar.
    Cost,
}

impl Resource {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 5] = [
        Self::Attempts,
        Self::Rounds,
        Self::WallTime,
        Self::Tokens,
        Self::Cost,
    ];
}

impl Budget {
    /// The share that is kept where a plan does not say it: a tenth, in millionths.
    pub const RESERVE_PPM: u32 = 100_000;

    /// The limit on a resource, in its unit.
    pub fn limit(&self, what: Resource) -> Option<u64> {
        match what {
            Resource::Attempts => self.max_attempts.map(u64::from),
            Resource::Rounds => self.max_rounds.map(u64::from),
            Resource::WallTime => self.max_wall_time_ms,
            Resource::Tokens => self.max_tokens,
            Resource::Cost => self.max_cost.map(Money::micros),
        }
    }

    /// The part of a limit that is kept: rounded down, so of one attempt none.
    pub fn kept(&self, limit: u64) -> u64 {
        let kept = u128::from(limit) * u128::from(self.reserve_ppm) / 1_000_000;
        u64::try_from(kept).unwrap_or(limit).min(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use proptest::prelude::*;

    #[test]
    fn what_is_kept_is_rounded_down() {
        let budget = Budget {
            reserve_ppm: Budget::RESERVE_PPM,
            ..Budget::default()
        };
        let kept = [0, 1, 9, 10, 20, 200_000].map(|limit| budget.kept(limit));
        assert_eq!(kept, [0, 0, 0, 1, 2, 20_000]);
    }

    proptest! {
        #[test]
        fn no_more_is_kept_than_half(limit in any::<u64>(), reserve_ppm in 0..=500_000_u32) {
            let budget = Budget { reserve_ppm, ..Budget::default() };
            prop_assert!(budget.kept(limit) <= limit / 2);
        }
    }
}
