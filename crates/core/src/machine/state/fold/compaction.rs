//! The fold of the facts about compactors, and the breaker that keeps one from being asked in vain.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{MachineState, fold::agents},
    words::{CompactionOutcome, CompactionStart, EventKind, agents::compaction_event::CompactionRecord},
};
use wf_base::time::Moment;
use wf_model::Plan;

/// The failures in a row after which the compactor is not asked for a time.
const MOST_FAILURES: u32 = 3;

/// The time for which it is not asked then.
const COOL_DOWN: Duration = Duration::from_mins(5);

/// The failures of the compactor in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct CompactorBreaker {
    /// The number of failures since the last answer.
    failures: u32,
    /// The time of the last failure.
    last: Option<Moment>,
}

impl CompactorBreaker {
    /// True if the compactor is not asked now.
    pub(in crate::machine) fn is_open(self, now: Moment) -> bool {
        self.failures >= MOST_FAILURES && self.last.is_some_and(|last| now < last.after(COOL_DOWN))
    }

    fn note(&mut self, outcome: &CompactionOutcome, at: Moment) {
        *self = match outcome {
            CompactionOutcome::Chosen { .. } => Self::default(),
            CompactionOutcome::Failed { .. } => {
                Self { failures: self.failures.saturating_add(1), last: Some(at) }
            }
        };
    }
}

/// Applies a fact about the compactor.
pub(in crate::machine) fn apply_compaction(
    state: &mut MachineState,
    plan: &Plan,
    at: Moment,
    kind: &EventKind,
) {
    match kind {
        EventKind::CompactionStarted(CompactionStart { attempt, call, groups }) => {
            if let Some(record) = agents::agent_record_mut(state, plan, attempt) {
                let groups = groups.clone();
                record.compaction = Some(Box::new(CompactionRecord { call: *call, groups, outcome: None }));
            }
        }
        EventKind::CompactionEnded(end) => {
            state.agents.compactor.note(&end.outcome, at);
            let record = agents::agent_record_mut(state, plan, &end.attempt);
            if let Some(compaction) = record.and_then(|record| record.compaction.as_mut()) {
                compaction.outcome = Some(end.outcome.clone());
            }
        }
        _ => {}
    }
}
