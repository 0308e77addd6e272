use serde::{Deserialize, Serialize};

use super::{CheckRunFindings, RepairOutcome};
use crate::machine::{CheckRuling, CheckVerdict, EventKind, RunOutcome};

/// The end of a run of a reconciliation, as far as that depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReconciliationRunEnd {
    pub outcome: RunOutcome,
    /// The reason, in its own words; empty if it succeeded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// True if a person accepted it although checks failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_accepted: bool,
    /// The verdicts on the checks of its plan, without those of its steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckVerdict>,
}

impl ReconciliationRunEnd {
    /// Returns the end of a run by its events, as the record shows it; `None` if it has not ended.
    pub fn of_events<'e>(facts: impl IntoIterator<Item = &'e EventKind>) -> Option<Self> {
        let mut checks = Vec::new();
        for fact in facts {
            match fact {
                EventKind::CheckCompleted { attempt: None, verdict } => checks.push(verdict.clone()),
                // Each round is checked anew.
                EventKind::RoundCompleted(round) if round.goes_on() => checks.clear(),
                EventKind::RunEnded { outcome, reason, accepted, .. } => {
                    let (outcome, reason, is_accepted) = (*outcome, reason.clone(), accepted.is_some());
                    return Some(Self { outcome, reason, is_accepted, checks });
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the end of a run ended from outside and could not say anything about it.
    pub fn failure(reason: String) -> Self {
        Self { outcome: RunOutcome::Failed, reason, is_accepted: false, checks: Vec::new() }
    }

    /// Returns what it says as a check run.
    pub fn findings(&self) -> CheckRunFindings {
        let named = |ruling| {
            let ruled = self.checks.iter().filter(|verdict| verdict.ruling == ruling);
            ruled.map(|verdict| verdict.name.to_string()).collect()
        };
        CheckRunFindings {
            passed: self.outcome == RunOutcome::Succeeded,
            cancelled: self.outcome == RunOutcome::Cancelled,
            failed_checks: named(CheckRuling::Fail),
            unchecked: named(CheckRuling::Error),
            reason: self.reason.clone(),
        }
    }

    /// Returns what it says as a repair.
    pub fn repair_outcome(&self) -> RepairOutcome {
        match self.outcome {
            RunOutcome::Succeeded if self.is_accepted => {
                RepairOutcome::Failed("it was accepted although some checks failed".into())
            }
            RunOutcome::Succeeded => RepairOutcome::Done,
            RunOutcome::Cancelled => RepairOutcome::Cancelled,
            RunOutcome::Failed | RunOutcome::Abandoned => RepairOutcome::Failed(self.reason.clone()),
        }
    }
}
