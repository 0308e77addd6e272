use serde::{Deserialize, Serialize};

use wf_base::{keywords, time::Moment};
use wf_model::{Goal, GoalEvent, OnUnmet};

keywords! {
    /// The part of a reconciliation a run is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReconciliationPart {
        /// The checks alone: the check run.
        Look = "look",
        /// The repairing steps, and then the checks.
        Repair = "repair",
        /// The steps of a goal without checks.
        Job = "job",
    }
}

impl ReconciliationPart {
    /// Returns what this part is in a goal: the steps of one without checks repair nothing.
    #[must_use]
    pub fn of_goal(self, goal: &Goal) -> Self {
        if goal.is_job && self == Self::Repair { Self::Job } else { self }
    }
}

keywords! {
    /// The health of a goal, as its last reconciliation found it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReconciliationHealth {
        /// The state is as desired.
        Healthy = "healthy",
        /// The state was not as desired, and a repair fixed it.
        Repaired = "repaired",
        /// Its steps ran to their end; it has no checks that could say what that achieved.
        Reported = "reported",
        /// The state is not as desired.
        Failed = "failed",
        /// The state is not as desired, and a repair waits for the user.
        Waiting = "waiting",
        /// The state is unknown: the checks could not be made.
        Unknown = "unknown",
        /// The reconciliation was cancelled.
        Cancelled = "cancelled",
    }
}

impl ReconciliationHealth {
    /// True if it ended well: the state is as desired, or the steps of a goal without checks ran to their end.
    pub fn is_good(self) -> bool {
        matches!(self, Self::Healthy | Self::Repaired | Self::Reported)
    }

    /// True if the state is as desired, false if not; `None` if no check can say.
    pub fn holds(self) -> Option<bool> {
        (self != Self::Reported).then_some(self.is_good())
    }

    /// True if it counts as a failed reconciliation, of which too many in a row pause a goal.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Unknown)
    }
}

/// The findings of a check run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRunFindings {
    /// True if every check passed.
    pub passed: bool,
    pub cancelled: bool,
    pub failed_checks: Vec<String>,
    /// The checks that could not be made.
    pub unchecked: Vec<String>,
    /// The reason for the run's failure, in its own words.
    pub reason: String,
}

/// The outcome of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairOutcome {
    /// Its checks pass.
    Done,
    /// It ended, and its checks fail; the reason.
    Failed(String),
    /// It may not start, or waits for an answer; the reason.
    Waits(String),
    Cancelled,
}

/// The verdict of a reconciliation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalOutcome {
    pub health: ReconciliationHealth,
    /// The reason, in a few words; empty if the state is as desired.
    pub reason: String,
}

/// The next step of a reconciliation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconciliationStep {
    /// Start a repair.
    Repair,
    /// End with a verdict.
    End(GoalOutcome),
}

/// Decides the next step of a reconciliation after its check run, and its repair if any (Silas 5.2.3).
/// Only failed checks are repaired: without a check the state is unknown, and reported so. The steps of a job always run.
pub fn next_step(
    goal: &Goal,
    findings: &CheckRunFindings,
    repaired: Option<&RepairOutcome>,
) -> ReconciliationStep {
    let end = |health, reason: String| ReconciliationStep::End(GoalOutcome { health, reason });
    if findings.passed && goal.is_job {
        return match repaired {
            None => ReconciliationStep::Repair,
            Some(RepairOutcome::Done) => end(ReconciliationHealth::Reported, String::new()),
            Some(RepairOutcome::Failed(reason)) => end(ReconciliationHealth::Failed, reason.clone()),
            Some(RepairOutcome::Waits(reason)) => end(ReconciliationHealth::Waiting, reason.clone()),
            Some(RepairOutcome::Cancelled) => end(ReconciliationHealth::Cancelled, "it was cancelled".into()),
        };
    }
    if findings.passed {
        return end(ReconciliationHealth::Healthy, String::new());
    }
    if findings.cancelled {
        return end(ReconciliationHealth::Cancelled, "the check was cancelled".into());
    }
    if findings.failed_checks.is_empty() {
        let reason = match findings.unchecked.as_slice() {
            [] => findings.reason.clone(),
            unable => format!("checks could not run: {}", unable.join(", ")),
        };
        return end(ReconciliationHealth::Unknown, reason);
    }
    let refuted = format!("checks failed: {}", findings.failed_checks.join(", "));
    match (repaired, goal.on_failure) {
        (None, OnUnmet::Report) => end(ReconciliationHealth::Failed, refuted),
        (None, OnUnmet::SpawnPlan) => ReconciliationStep::Repair,
        (Some(RepairOutcome::Done), _) => end(ReconciliationHealth::Repaired, refuted),
        (Some(RepairOutcome::Failed(reason)), _) => {
            end(ReconciliationHealth::Failed, format!("{refuted}; the repair failed: {reason}"))
        }
        (Some(RepairOutcome::Waits(reason)), _) => {
            end(ReconciliationHealth::Waiting, format!("{refuted}; the repair is waiting: {reason}"))
        }
        (Some(RepairOutcome::Cancelled), _) => {
            end(ReconciliationHealth::Cancelled, format!("{refuted}; the repair was cancelled"))
        }
    }
}

/// Counts the failures in a row among the latest reconciliations, newest first, each with the time of its
/// end. Those that ended before the goal was last resumed do not count: they were known when it was
/// resumed. A cancelled one says nothing about the goal.
pub fn consecutive_failures(
    ends: impl Iterator<Item = (Moment, ReconciliationHealth)>,
    resumed: Option<Moment>,
) -> usize {
    let later = ends.filter(|(at, _)| resumed.is_none_or(|resumed| *at > resumed));
    let conclusive = later.filter(|(_, health)| *health != ReconciliationHealth::Cancelled);
    conclusive.take_while(|(_, health)| health.is_failure()).count()
}

/// Returns the notification about a change of a goal's health. An unchanged health is not reported; a
/// repair always is.
pub fn health_notification(
    old_health: Option<ReconciliationHealth>,
    new_health: ReconciliationHealth,
) -> Option<GoalEvent> {
    let was_bad = old_health.is_some_and(ReconciliationHealth::is_failure);
    match new_health {
        ReconciliationHealth::Repaired => Some(GoalEvent::Repaired),
        ReconciliationHealth::Healthy | ReconciliationHealth::Reported => old_health
            .is_some_and(|before| !before.is_good() && before != ReconciliationHealth::Cancelled)
            .then_some(GoalEvent::Healthy),
        ReconciliationHealth::Failed | ReconciliationHealth::Unknown => {
            (!was_bad).then_some(GoalEvent::Failed)
        }
        ReconciliationHealth::Waiting => {
            (old_health != Some(ReconciliationHealth::Waiting)).then_some(GoalEvent::Waiting)
        }
        ReconciliationHealth::Cancelled => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ReconciliationHealth, consecutive_failures};
    use wf_base::time::Moment;

    #[test]
    fn only_failures_after_a_pause_count_and_a_cancelled_cycle_says_nothing() {
        use ReconciliationHealth::{Cancelled, Failed, Healthy, Unknown};
        let count = |healths: &[ReconciliationHealth], resumed: Option<i64>| {
            // The newest ended at 10, the one before at 9.
            let ends = (0..).map(|at| Moment::from_millis(10 - at));
            let ends = ends.zip(healths.iter().copied());
            consecutive_failures(ends, resumed.map(Moment::from_millis))
        };
        assert_eq!(count(&[], None), 0);
        assert_eq!(count(&[Failed, Unknown, Failed, Healthy, Failed], None), 3);
        assert_eq!(count(&[Failed, Cancelled, Failed, Healthy], None), 2);
        assert_eq!(count(&[Cancelled, Failed], None), 1);
        assert_eq!(count(&[Failed, Failed, Failed], Some(8)), 2);
        assert_eq!(count(&[Failed, Failed, Failed], Some(10)), 0);
    }
}
