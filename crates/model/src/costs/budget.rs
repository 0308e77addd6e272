use serde::{Deserialize, Serialize};

use crate::{
    costs::money::Money,
    summary::{exact_duration, weight},
};
use std::time::Duration;

/// The limits on the resources of a run, over all its attempts and however often it is resumed
/// (DESIGN section 3, `budget`; Silas 5.2.1: reaching a limit counts as spent).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunBudget {
    /// The maximum number of attempts; retries and attempts of nested runs count too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The maximum number of rounds of replanning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The maximum time since the start of the run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_wall_time_ms: Option<u64>,
    /// The maximum number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The maximum cost, in millionths of a US dollar.
    #[serde(default, rename = "max_cost_micro_usd", skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// The share of each limit that steps leave for checks, `finally` steps and the report, in
    /// millionths.
    pub reserve_ppm: u32,
    /// True if a run that makes progress gets more time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

// A larger budget of a run allows more.
view! { budget: RunBudget in Reach {
    most max_attempts,
    most max_rounds,
    most max_wall_time_ms as "max_wall_time_seconds" = max_wall_time_ms.as_ref().map(|ms| time_text(*ms)),
    most max_tokens,
    most max_cost as "max_cost_usd" = max_cost.map(|cost| (cost.to_string(), weight(cost.micros()))),
    most progress = max_wall_time_ms.map(|_| progress_text(*progress)); !progress,
    least reserve_ppm in Effort as "reserve" = reserve_text(*reserve_ppm); *reserve_ppm == RunBudget::RESERVE_PPM,
} }

fn time_text(ms: u64) -> (String, f64) {
    (exact_duration(Duration::from_millis(ms)), weight(ms))
}

fn progress_text(progress: bool) -> (&'static str, f64) {
    if progress { ("yes: up to twice the time while the run makes progress", 2.0) } else { ("no", 1.0) }
}

fn reserve_text(ppm: u32) -> (String, f64) {
    (format!("{} % of each limit", f64::from(ppm) / 10_000.0), f64::from(ppm))
}

/// A resource that a budget limits.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BudgetResource {
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

impl BudgetResource {
    /// All of them, in the order in which they are printed.
    pub const ALL: [Self; 5] = [Self::Attempts, Self::Rounds, Self::WallTime, Self::Tokens, Self::Cost];
}

impl RunBudget {
    /// The default reserved share: a tenth, in millionths.
    pub const RESERVE_PPM: u32 = 100_000;

    /// Returns the limit on a resource, in its unit.
    pub fn limit(&self, resource: BudgetResource) -> Option<u64> {
        match resource {
            BudgetResource::Attempts => self.max_attempts.map(u64::from),
            BudgetResource::Rounds => self.max_rounds.map(u64::from),
            BudgetResource::WallTime => self.max_wall_time_ms,
            BudgetResource::Tokens => self.max_tokens,
            BudgetResource::Cost => self.max_cost.map(Money::micros),
        }
    }

    /// Returns the stricter of each limit, and the larger reserve.
    #[must_use]
    pub fn stricter(&self, other: &Self) -> Self {
        fn least<T: Copy + Ord>(own: Option<T>, other: Option<T>) -> Option<T> {
            own.into_iter().chain(other).min()
        }
        Self {
            max_attempts: least(self.max_attempts, other.max_attempts),
            max_rounds: least(self.max_rounds, other.max_rounds),
            max_wall_time_ms: least(self.max_wall_time_ms, other.max_wall_time_ms),
            max_tokens: least(self.max_tokens, other.max_tokens),
            max_cost: least(self.max_cost, other.max_cost),
            reserve_ppm: self.reserve_ppm.max(other.reserve_ppm),
            progress: self.progress && other.progress,
        }
    }

    /// Returns the reserved part of a limit: rounded down, so none of a limit of one attempt.
    pub fn reserved(&self, limit: u64) -> u64 {
        let reserved = u128::from(limit) * u128::from(self.reserve_ppm) / 1_000_000;
        u64::try_from(reserved).unwrap_or(limit).min(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::RunBudget;
    use proptest::prelude::*;

    #[test]
    fn what_is_kept_is_rounded_down() {
        let budget = RunBudget { reserve_ppm: RunBudget::RESERVE_PPM, ..RunBudget::default() };
        let kept = [0, 1, 9, 10, 20, 200_000].map(|limit| budget.reserved(limit));
        assert_eq!(kept, [0, 0, 0, 1, 2, 20_000]);
    }

    proptest! {
        #[test]
        fn no_more_is_kept_than_half(limit in any::<u64>(), reserve_ppm in 0..=500_000_u32) {
            let budget = RunBudget { reserve_ppm, ..RunBudget::default() };
            prop_assert!(budget.reserved(limit) <= limit / 2);
        }
    }
}
