use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};
use wf_base::keywords;

use crate::summary::{RecordView, SummaryBuilder};

keywords! {
    /// The class of an attempt's failure, which decides the next action (DESIGN: failure class).
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum FailureClass {
        /// It ran, and the result is wrong.
        Logical = "logical",
        /// Its environment failed: network, permission, time, a missing program, a signal.
        Environmental = "environmental",
        /// A sensor, a provider or a budget failed: no evidence about the work.
        Engine = "engine",
        /// The engine died while it ran, and its result is unknown.
        Interrupted = "interrupted",
    }
}

/// The conditions and delays for retrying a failed attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// The maximum number of attempts after the first.
    pub max: u32,
    /// The delay before the second attempt.
    pub backoff: Duration,
    /// The factor between consecutive delays; at least one.
    pub factor: f64,
    /// The longest delay.
    pub max_delay: Duration,
    /// The part of a delay that varies, from 0 to 1, up and down.
    pub jitter: f64,
    /// The failure classes that are retried.
    pub on: Vec<FailureClass>,
}

impl RetryPolicy {
    /// True if failures of a class are retried. Those of the engine are, where those of the environment are: both may
    /// pass by themselves.
    pub fn covers(&self, class: FailureClass) -> bool {
        let passes = class == FailureClass::Engine && self.on.contains(&FailureClass::Environmental);
        passes || self.on.contains(&class)
    }
}

/// The retries of a step. Without any, nothing else about them matters.
pub(crate) fn show_retries(retry: &RetryPolicy, summary: &mut SummaryBuilder) {
    if retry.max == 0 {
        return lines!(summary in Effort { most "retry.max" = &retry.max; true });
    }
    summary.below("retry", |summary| retry.view(summary));
}

view! { retry: RetryPolicy in Effort {
    most max,
    plain backoff,
    plain factor,
    plain max_delay,
    plain jitter,
    grant on,
} }

impl Default for RetryPolicy {
    /// No second attempt.
    fn default() -> Self {
        Self {
            max: 0,
            backoff: Duration::ZERO,
            factor: 2.0,
            max_delay: Duration::from_mins(5),
            jitter: 0.0,
            on: vec![FailureClass::Logical, FailureClass::Environmental],
        }
    }
}

impl RetryPolicy {
    /// Returns the delay after attempt number `attempt` (from one) failed. `seed` decides the
    /// jitter, so the same attempt of the same run always has the same delay. Never overflows.
    pub fn delay(&self, attempt: u32, seed: u64) -> Duration {
        if self.backoff.is_zero() {
            return Duration::ZERO;
        }
        let exponent = f64::from(attempt.saturating_sub(1));
        let base = self.backoff.as_secs_f64() * self.factor.max(1.0).powf(exponent);
        let capped = base.min(self.max_delay.as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "53 bits of the seed are plenty")]
        let turn = (seed >> 11) as f64 / (1_u64 << 53) as f64;
        let varied = capped * (1.0 + self.jitter.clamp(0.0, 1.0) * (2.0 * turn - 1.0));
        let wait = Duration::try_from_secs_f64(varied).unwrap_or(self.max_delay);
        wait.min(self.max_delay)
    }
}

/// A rule for the class of a failure. It applies if all its conditions do; a rule without
/// conditions never applies.
#[derive(Clone, Debug)]
pub struct FailureClassRule {
    /// The process exited with one of these codes; empty: no condition.
    pub exit_code: Vec<i32>,
    /// It was killed by this signal.
    pub signal: Option<i32>,
    /// Some part of the end of its output matches.
    pub output: Option<Regex>,
    /// The resulting class of the failure.
    pub class: FailureClass,
}

/// The rules for the class of a failure, and so for its retry.
pub(crate) fn show_failure_rules(rules: &[FailureClassRule], summary: &mut SummaryBuilder) {
    for (at, rule) in rules.iter().enumerate() {
        let FailureClassRule { exit_code, signal, output, class } = rule;
        let mut ifs = Vec::new();
        if !exit_code.is_empty() {
            ifs.push(format!("exit code {}", serde_json::json!(exit_code)));
        }
        ifs.extend(signal.map(|signal| format!("signal {signal}")));
        ifs.extend(output.iter().map(|output| format!("output matching {}", output.as_str())));
        let text = format!("{} if {}", class.as_str(), ifs.join(" and "));
        let key = format!("classify[{}]", at + 1);
        lines!(summary in Effort { plain (&key) = text });
    }
}

#[cfg(test)]
mod tests {
    use super::RetryPolicy;
    use proptest::prelude::*;
    use std::time::Duration;

    fn retry(backoff: u64, jitter: f64) -> RetryPolicy {
        RetryPolicy { max: 3, backoff: Duration::from_secs(backoff), jitter, ..RetryPolicy::default() }
    }

    #[test]
    fn waits_grow_and_stop_growing() {
        let waits: Vec<u64> = (1..=9).map(|n| retry(2, 0.0).delay(n, 7).as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300]);
    }

    #[test]
    fn a_billion_attempts_do_not_overflow() {
        assert_eq!(retry(2, 0.0).delay(1_000_000_000, 0), Duration::from_mins(5));
        assert_eq!(retry(0, 0.5).delay(u32::MAX, u64::MAX), Duration::ZERO);
    }

    #[test]
    fn jitter_stays_in_its_bounds() {
        for seed in [0, 1, u64::MAX / 2, u64::MAX] {
            let wait = retry(10, 0.2).delay(1, seed).as_secs_f64();
            assert!((8.0..=12.0).contains(&wait), "{wait}");
        }
    }

    /// Durations of all sizes, the largest among them.
    fn times() -> impl Strategy<Value = Duration> {
        let far = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
        prop_oneof![
            any::<u64>().prop_map(Duration::from_millis),
            any::<u32>().prop_map(|n| Duration::from_nanos(n.into())),
            prop::sample::select(far.to_vec()),
        ]
    }

    fn numbers() -> impl Strategy<Value = f64> {
        let odd = [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, -1.0];
        prop_oneof![any::<f64>(), prop::sample::select(odd.to_vec())]
    }

    fn attempts() -> impl Strategy<Value = u32> {
        let far = [0, 1, 1_000_000_000, u32::MAX - 1, u32::MAX];
        prop_oneof![any::<u32>(), prop::sample::select(far.to_vec())]
    }

    proptest! {
        #[test]
        fn no_wait_is_longer_than_the_longest(
            times in (times(), times()), numbers in (numbers(), numbers()),
            attempt in attempts(), seed in any::<u64>()) {
            let retry = RetryPolicy {
                max: u32::MAX,
                backoff: times.0,
                max_delay: times.1,
                factor: numbers.0,
                jitter: numbers.1,
                ..RetryPolicy::default()
            };
            let wait = retry.delay(attempt, seed);
            prop_assert!(wait <= retry.max_delay, "{wait:?}");
            prop_assert_eq!(wait, retry.delay(attempt, seed));
        }

        #[test]
        fn waits_do_not_shrink(backoff in times(), factor in 1.0..100.0_f64, attempt in attempts()) {
            let retry = RetryPolicy { backoff, factor, ..RetryPolicy::default() };
            let next = attempt.saturating_add(1);
            prop_assert!(retry.delay(attempt, 0) <= retry.delay(next, 0));
        }
    }
}
