use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Ui;
use crate::goal::Part;
use crate::store::Durability;

/// The keys in the configuration of a run under which this is recorded.
const JOBS: &str = "max_parallel";
const STRICT: &str = "strict";
const NO_CACHE: &str = "no_cache";
const PART: &str = "goal";
/// The key that the store adds.
const DURABILITY: &str = "durability";

/// What a run is begun with that no file says. It is recorded, so that a run that goes on
/// elsewhere stays what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// How many steps run at once, instead of what the plan says.
    pub jobs: Option<u32>,
    /// Whether only what holds in full is accepted, where neither the plan nor the configuration
    /// says it.
    pub strict: bool,
    /// What its record survives, instead of what the configuration says. The store writes down what
    /// held.
    pub durability: Option<Durability>,
    /// Whether every step runs, whatever results the cache has.
    pub no_cache: bool,
    /// Of a goal: which run of a cycle it is. A goal is not run otherwise.
    pub part: Option<Part>,
    /// Whether it goes on with something that has told what may be wrong with the files. It is not
    /// recorded.
    pub goes_on: bool,
    /// How long the run has been worked on before. It follows from what is recorded.
    pub worked: Duration,
}

impl Begun {
    /// With what one begins here and now.
    pub fn now(ui: &Ui, jobs: Option<u32>) -> Self {
        let strict = ui.env.in_ci();
        Self {
            jobs,
            strict,
            ..Self::default()
        }
    }

    /// The same for a run of a cycle of a goal.
    #[must_use]
    pub fn of_goal(self, part: Part) -> Self {
        let part = Some(part);
        Self { part, ..self }
    }

    /// With what a run began, by the configuration that it was recorded with.
    pub fn recorded(config: &Value) -> Self {
        let jobs = config.get(JOBS).and_then(Value::as_u64);
        Self {
            jobs: jobs.and_then(|jobs| u32::try_from(jobs).ok()),
            strict: config.get(STRICT).and_then(Value::as_bool) == Some(true),
            durability: word(config, DURABILITY),
            no_cache: config.get(NO_CACHE).and_then(Value::as_bool) == Some(true),
            part: word(config, PART),
            goes_on: false,
            worked: Duration::ZERO,
        }
    }

    /// Whether the same texts are made into the same plan.
    pub fn makes_as(&self, other: &Self) -> bool {
        let made = |begun: &Self| (begun.jobs, begun.strict, begun.part);
        made(self) == made(other)
    }

    /// Adds this to what is recorded of a run.
    #[must_use]
    pub fn record(self, with: Value) -> Value {
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

/// What is recorded under a key, if it is known here.
fn word<'c, T: Deserialize<'c>>(config: &'c Value, key: &str) -> Option<T> {
    T::deserialize(config.get(key)?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Begun, Durability, Part};
    use serde_json::{Value, json};

    #[test]
    fn what_is_recorded_is_read_again() {
        for jobs in [None, Some(1), Some(u32::MAX)] {
            for strict in [false, true] {
                let part = strict.then_some(Part::Look);
                let begun = Begun {
                    jobs,
                    strict,
                    no_cache: strict,
                    part,
                    ..Begun::default()
                };
                assert_eq!(Begun::recorded(&begun.record(Value::Null)), begun);
                let mut among = begun.record(json!({"retry": {"all": true}}));
                assert_eq!(Begun::recorded(&among), begun);
                among["durability"] = json!(Durability::Normal);
                let durability = Some(Durability::Normal);
                let begun = Begun {
                    durability,
                    ..begun
                };
                assert_eq!(Begun::recorded(&among), begun);
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
            assert_eq!(Begun::recorded(&config), Begun::default(), "{config}");
        }
    }
}
