use serde::Serialize;

use wf_base::name::Name;
use wf_core::machine::{FailureCount, TaskId};
use wf_store::CheckRow;

/// The number of gaps printed of a long trajectory: the first, and the last ones.
const PRINTED_GAPS: usize = 6;

/// The gaps of the attempts of a task, one after another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapTrajectory {
    pub step: Name,
    pub item: Option<u32>,
    /// The gap of each attempt that was checked, oldest first.
    pub gaps: Vec<FailureCount>,
}

impl GapTrajectory {
    /// The trajectories of all tasks that were checked, in the order of the checks.
    pub fn of_checks(checks: &[CheckRow]) -> Vec<Self> {
        let mut trajectories: Vec<Self> = Vec::new();
        let mut counts = std::collections::BTreeMap::new();
        for check in checks {
            let (Some(step), Some(attempt)) = (&check.step, check.attempt) else {
                continue;
            };
            let at = *counts.entry((step, check.item)).or_insert_with(|| {
                trajectories.push(Self { step: step.clone(), item: check.item, gaps: Vec::new() });
                trajectories.len() - 1
            });
            if let Some(trajectory) = trajectories.get_mut(at) {
                trajectory.was_checked(attempt, check.verdict.passed());
            }
        }
        trajectories
    }

    pub fn is_of(&self, task_id: &TaskId) -> bool {
        self.step == task_id.step && self.item == task_id.item
    }

    fn was_checked(&mut self, attempt: u32, passed: bool) {
        FailureCount::count(&mut self.gaps, attempt, passed);
    }

    /// Returns `gap 3/5 → 1/5 → 0/5`: failed criteria out of all. `None` for a single attempt.
    pub fn text(&self) -> Option<String> {
        if self.gaps.len() < 2 {
            return None;
        }
        let mut gap_texts: Vec<String> = self.gaps.iter().map(ToString::to_string).collect();
        if gap_texts.len() > PRINTED_GAPS {
            gap_texts.splice(1..=gap_texts.len() - (PRINTED_GAPS - 1), ["…".to_owned()]);
        }
        Some(format!("failing checks {}", gap_texts.join(" → ")))
    }
}

#[cfg(test)]
mod tests {
    use super::GapTrajectory;
    use crate::record::tests::sample;
    use wf_core::machine::CheckRuling;

    #[test]
    fn a_trajectory_tells_the_first_and_the_last_attempts() {
        let attempts = |count: u32| {
            let checks: Vec<_> = (1..=count)
                .flat_map(|attempt| {
                    let last = attempt == count;
                    let ruling = if last { CheckRuling::Pass } else { CheckRuling::Fail };
                    [sample::check("a", attempt, CheckRuling::Pass), sample::check("a", attempt, ruling)]
                })
                .collect();
            GapTrajectory::of_checks(&checks).remove(0).text()
        };
        assert_eq!(attempts(1), None);
        assert_eq!(attempts(2).as_deref(), Some("failing checks 1/2 → 0/2"));
        let six = "failing checks 1/2 → 1/2 → 1/2 → 1/2 → 1/2 → 0/2";
        assert_eq!(attempts(6).as_deref(), Some(six));
        let many = "failing checks 1/2 → … → 1/2 → 1/2 → 1/2 → 0/2";
        assert_eq!(attempts(9).as_deref(), Some(many));
    }
}
