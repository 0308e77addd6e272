use std::time::Duration;

use crate::Host;
use serde::Deserialize;
use serde_json::{Value, json};
use wf_core::goal::ReconciliationPart;
use wf_store::StoreDurability;

/// The keys for this in the recorded configuration of a run.
const JOBS: &str = "max_parallel";
const STRICT: &str = "strict";
const NO_CACHE: &str = "no_cache";
const PART: &str = "goal";
/// The key the store adds.
const DURABILITY: &str = "durability";

/// The options a run is started with that no file contains. They are recorded, so that a run that
/// is resumed elsewhere stays the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// The number of steps running concurrently, overriding the plan.
    pub jobs: Option<u32>,
    /// Strict acceptance: all checks must pass. Used where neither the plan nor the configuration
    /// decides it.
    pub strict: bool,
    /// The durability of its record, overriding the configuration. The store records the actual
    /// one.
    pub durability: Option<StoreDurability>,
    /// True if every step runs, regardless of cached results.
    pub no_cache: bool,
    /// For a goal: the part of a reconciliation the run is. A goal is not run otherwise.
    pub part: Option<ReconciliationPart>,
    /// True if it continues work that has reported the problems of the files already. It is not
    /// recorded.
    pub is_continuation: bool,
    /// The time the run has been worked on before. It follows from the record.
    pub prior_work: Duration,
}

impl RunOptions {
    /// The options of a run starting here and now.
    pub fn at_present(host: &Host, jobs: Option<u32>) -> Self {
        let strict = host.in_ci();
        Self { jobs, strict, ..Self::default() }
    }

    /// The same for a run of a reconciliation of a goal.
    #[must_use]
    pub fn of_goal(self, part: ReconciliationPart) -> Self {
        let part = Some(part);
        Self { part, ..self }
    }

    /// The same with another durability of the record: one to survive a loss of power, or only a crash.
    #[must_use]
    pub fn with_durability(self, survives_power_loss: bool) -> Self {
        let durability = if survives_power_loss { StoreDurability::Full } else { StoreDurability::Normal };
        Self { durability: Some(durability), ..self }
    }

    /// The options a run started with, from its recorded configuration.
    pub fn recorded(config: &Value) -> Self {
        let jobs = config.get(JOBS).and_then(Value::as_u64);
        Self {
            jobs: jobs.and_then(|jobs| u32::try_from(jobs).ok()),
            strict: config.get(STRICT).and_then(Value::as_bool) == Some(true),
            durability: recorded_value(config, DURABILITY),
            no_cache: config.get(NO_CACHE).and_then(Value::as_bool) == Some(true),
            part: recorded_value(config, PART),
            is_continuation: false,
            prior_work: Duration::ZERO,
        }
    }

    /// True if the same texts make the same plan with both.
    pub fn makes_same_plan(&self, other: &Self) -> bool {
        let effect = |options: &Self| (options.jobs, options.strict, options.part);
        effect(self) == effect(other)
    }

    /// Adds this to the recorded configuration of a run.
    #[must_use]
    pub fn write_to(self, with: Value) -> Value {
        let mut config = match with {
            Value::Object(config) => config,
            _ => serde_json::Map::new(),
        };
        config.insert(JOBS.into(), json!(self.jobs));
        config.insert(STRICT.into(), json!(self.strict));
        if self.no_cache {
            config.insert(NO_CACHE.into(), json!(true));
        }
        if let Some(part) = self.part {
            config.insert(PART.into(), json!(part));
        }
        Value::Object(config)
    }
}

/// The recorded value of a key, if it is known here.
fn recorded_value<'c, T: Deserialize<'c>>(config: &'c Value, key: &str) -> Option<T> {
    T::deserialize(config.get(key)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{ReconciliationPart, RunOptions, StoreDurability};
    use serde_json::{Value, json};

    #[test]
    fn what_is_recorded_is_read_again() {
        for jobs in [None, Some(1), Some(u32::MAX)] {
            for strict in [false, true] {
                let part = strict.then_some(ReconciliationPart::Look);
                let run_options =
                    RunOptions { jobs, strict, no_cache: strict, part, ..RunOptions::default() };
                assert_eq!(RunOptions::recorded(&run_options.write_to(Value::Null)), run_options);
                let mut among = run_options.write_to(json!({"retry": {"all": true}}));
                assert_eq!(RunOptions::recorded(&among), run_options);
                among["durability"] = json!(StoreDurability::Normal);
                let durability = Some(StoreDurability::Normal);
                let options = RunOptions { durability, ..run_options };
                assert_eq!(RunOptions::recorded(&among), options);
                assert_eq!(among["retry"]["all"], true);
            }
        }
    }

    #[test]
    fn a_run_that_recorded_nothing_was_begun_with_nothing() {
        for config in [
            Value::Null,
            json!({"max_parallel": null}),
            json!({"max_parallel": -1, "strict": "yes", "no_cache": 1, "durability": "some", "goal": 1}),
        ] {
            assert_eq!(RunOptions::recorded(&config), RunOptions::default(), "{config}");
        }
    }
}
