use serde::Serialize;

use crate::machine::{Gap, Place};
use crate::name::Name;
use crate::store::CheckRow;

/// How many gaps of a long trajectory are told: the first, and the last ones.
const TOLD: usize = 6;

/// How far the attempts of a place were from done, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trajectory {
    /// The step.
    pub step: Name,
    /// The item.
    pub item: Option<u32>,
    /// The gap of each attempt that was judged, oldest first.
    pub gaps: Vec<Gap>,
}

impl Trajectory {
    /// The trajectories of all places that were judged, in the order in which they were.
    pub fn all(checks: &[CheckRow]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut found = std::collections::BTreeMap::new();
        for check in checks {
            let (Some(step), Some(attempt)) = (&check.step, check.attempt) else {
                continue;
            };
            let at = *found.entry((step, check.item)).or_insert_with(|| {
                all.push(Self {
                    step: step.clone(),
                    item: check.item,
                    gaps: Vec::new(),
                });
                all.len() - 1
            });
            if let Some(one) = all.get_mut(at) {
                one.judged(attempt, check.verdict.passed());
            }
        }
        all
    }

    /// Whether it is the trajectory of a place.
    pub fn is_of(&self, place: &Place) -> bool {
        self.step == place.step && self.item == place.item
    }

    fn judged(&mut self, attempt: u32, passed: bool) {
        Gap::count(&mut self.gaps, attempt, passed);
    }

    /// `gap 3/5 → 1/5 → 0/5`: how many criteria failed, of how many. `None` of a single attempt.
    pub fn text(&self) -> Option<String> {
        if self.gaps.len() < 2 {
            return None;
        }
        let mut told: Vec<String> = self.gaps.iter().map(ToString::to_string).collect();
        if told.len() > TOLD {
            told.splice(1..=told.len() - (TOLD - 1), ["…".to_owned()]);
        }
        Some(format!("gap {}", told.join(" → ")))
    }
}

#[cfg(test)]
mod tests {
    use super::Trajectory;
    use crate::machine::Ruling;
    use crate::report::record::sample;

    #[test]
    fn a_trajectory_tells_the_first_and_the_last_attempts() {
        let attempts = |count: u32| {
            let checks: Vec<_> = (1..=count)
                .flat_map(|attempt| {
                    let last = attempt == count;
                    let ruling = if last { Ruling::Pass } else { Ruling::Fail };
                    [
                        sample::check("a", attempt, Ruling::Pass),
                        sample::check("a", attempt, ruling),
                    ]
                })
                .collect();
            Trajectory::all(&checks).remove(0).text()
        };
        assert_eq!(attempts(1), None);
        assert_eq!(attempts(2).as_deref(), Some("gap 1/2 → 0/2"));
        let six = "gap 1/2 → 1/2 → 1/2 → 1/2 → 1/2 → 0/2";
        assert_eq!(attempts(6).as_deref(), Some(six));
        let many = "gap 1/2 → … → 1/2 → 1/2 → 1/2 → 0/2";
        assert_eq!(attempts(9).as_deref(), Some(many));
    }
}
