use serde::{Deserialize, Serialize};

use crate::checks::check::Check;
use wf_base::keywords;

keywords! {
    /// The phase of a check. The phases follow each other: the checks of one are run when all checks of
    /// the one before pass (Sylk W22, W25: inspector before tester).
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
        /// It inspects the result.
        Inspect = "inspect",
        /// It tests the result.
        Test = "test",
        /// It decides whether the result is verified.
        #[default]
        Verify = "verify",
    }
}

impl CheckPhase {
    /// True if this is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the first phase with checks after a finished one; `None` if there is none.
    pub fn next_phase(over: Option<Self>, checks: &[Check]) -> Option<Self> {
        let phases = checks.iter().map(|check| check.phase);
        phases.filter(|phase| Some(*phase) > over).min()
    }
}

/// The limit on how often the checks of `inspect` and `test` may send the work back for rework;
/// each phase counts separately (Sylk W23: two counters, one `max_loops`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReworkLimit {
    /// The maximum number of further attempts caused by failed checks of the same phase.
    pub max: u32,
    /// The reaction when none is left.
    pub on_exhausted: OnReworkExhausted,
}

// The number of times that `inspect` and `test` send the work back, and the effect of the last.
view! { loops: ReworkLimit in Effort {
    most max; *max == ReworkLimit::default().max,
    most on_exhausted in Proof = match on_exhausted {
        OnReworkExhausted::Fail => ("fail", 0.0),
        OnReworkExhausted::Ask => ("ask: an approver may let a phase of checks be ignored", 1.0),
    }; *on_exhausted == OnReworkExhausted::Fail,
} }

keywords! {
    listed
    /// The reaction when a check of `inspect` or `test` fails, and no loop is left.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OnReworkExhausted {
        /// The step fails.
        #[default]
        Fail = "fail",
        /// An approver is asked whether to go on without that phase.
        Ask = "ask",
    }
}

impl Default for ReworkLimit {
    /// Three for each phase, then the step fails.
    fn default() -> Self {
        Self { max: 3, on_exhausted: OnReworkExhausted::Fail }
    }
}

#[cfg(test)]
mod tests {
    use super::CheckPhase::{self, Inspect, Test, Verify};
    use crate::checks::check::Check;
    use wf_base::name::Name;

    fn checks(phases: &[CheckPhase]) -> Vec<Check> {
        let check = |phase: &CheckPhase| Check { phase: *phase, ..Check::new(Name::parse("c").unwrap()) };
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
            while let Some(phase) = CheckPhase::next_phase(over, &checks) {
                found.push(phase);
                over = Some(phase);
            }
            assert_eq!(found, order, "{phases:?}");
        }
    }
}
