use serde::{Deserialize, Serialize};

use super::Check;

/// What a check of a result is for. The phases follow each other: the checks of one are run when
/// all of the one before hold (Sylk W22, W25: inspector before tester).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CheckPhase {
    /// It looks at the result.
    Inspect,
    /// It tries the result.
    Test,
    /// It decides whether the result is believed.
    #[default]
    Verify,
}

impl CheckPhase {
    /// The word for it, which is also the key under which its checks stand.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Test => "test",
            Self::Verify => "verify",
        }
    }

    /// Whether this is what is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The first phase that has checks, after one that is over; `None`: there is none.
    pub fn after(over: Option<Self>, checks: &[Check]) -> Option<Self> {
        let phases = checks.iter().map(|check| check.phase);
        phases.filter(|phase| Some(*phase) > over).min()
    }
}

/// How often the checks of `inspect` and `test` may send the work back; each phase counts for
/// itself (Sylk W23: two counters, one `max_loops`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loops {
    /// How many attempts may follow because a check of the same phase did not hold.
    pub max: u32,
    /// What follows when there is none left.
    pub on_exhausted: Exhausted,
}

/// What follows when a check of `inspect` or `test` does not hold, and no loop is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exhausted {
    /// The step fails.
    #[default]
    Fail,
    /// People are asked whether to go on without that phase.
    Ask,
}

impl Default for Loops {
    /// Three for each phase, then the step fails.
    fn default() -> Self {
        Self {
            max: 3,
            on_exhausted: Exhausted::Fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CheckPhase::{self, Inspect, Test, Verify};
    use crate::model::Check;
    use crate::name::Name;

    fn checks(phases: &[CheckPhase]) -> Vec<Check> {
        let check = |phase: &CheckPhase| Check {
            phase: *phase,
            ..Check::new(Name::parse("c").unwrap())
        };
        phases.iter().map(check).collect()
    }

    #[test]
    fn phases_without_checks_are_passed_over() {
        for (phases, order) in [
            (&[Inspect, Test, Verify][..], &[Inspect, Test, Verify][..]),
            (&[Verify, Inspect, Verify], &[Inspect, Verify]),
            (&[Test, Test], &[Test]),
            (&[], &[]),
        ] {
            let checks = checks(phases);
            let mut found = Vec::new();
            let mut over = None;
            while let Some(phase) = CheckPhase::after(over, &checks) {
                found.push(phase);
                over = Some(phase);
            }
            assert_eq!(found, order, "{phases:?}");
        }
    }
}
