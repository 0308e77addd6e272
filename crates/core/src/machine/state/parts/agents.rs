//! The part of agents as far as it concerns more than one of them: the queue of merges, and the breaker of the compactor.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::machine::{state::TaskIx, words::CompactionOutcome};
use wf_base::time::Moment;

/// The number of failures in a row after which the compactor is not asked for a time.
const MOST_FAILURES: u32 = 3;

/// The time for which it is not asked then.
const COOL_DOWN: Duration = Duration::from_mins(5);

/// The state of agents as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct AgentsState {
    /// The tasks with a merge to be made, in order; the first one is under way.
    #[serde(default)]
    merges: Vec<TaskIx>,
    /// The failures of the compactor.
    #[serde(default)]
    compactor: CompactorBreaker,
}

/// The failures of the compactor in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CompactorBreaker {
    /// The number of failures since the last answer.
    failures: u32,
    /// The time of the last failure.
    last: Option<Moment>,
}

impl AgentsState {
    /// Queues the merge of a task.
    pub(in crate::machine::state) fn queue_merge(&mut self, task: TaskIx) {
        self.merges.push(task);
    }

    /// Removes a task from the queue of merges, if it is there.
    pub(in crate::machine::state) fn leave_merges(&mut self, task: TaskIx) {
        self.merges.retain(|other| *other != task);
    }

    /// Notes an answer of the compactor, or its failure.
    pub(in crate::machine::state) fn note_compaction(&mut self, outcome: &CompactionOutcome, at: Moment) {
        self.compactor = match outcome {
            CompactionOutcome::Chosen { .. } => CompactorBreaker::default(),
            CompactionOutcome::Failed { .. } => {
                let failures = self.compactor.failures.saturating_add(1);
                CompactorBreaker { failures, last: Some(at) }
            }
        };
    }

    /// Returns the task with the next merge.
    pub(in crate::machine) fn next_merge(&self) -> Option<TaskIx> {
        self.merges.first().copied()
    }

    /// True if the compactor is not asked now: it failed too often.
    pub(in crate::machine) fn spares_compactor(&self, now: Moment) -> bool {
        let CompactorBreaker { failures, last } = self.compactor;
        failures >= MOST_FAILURES && last.is_some_and(|last| now < last.after(COOL_DOWN))
    }
}
