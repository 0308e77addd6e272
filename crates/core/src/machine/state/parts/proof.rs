//! The part of the plan's own checks, and of evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{self, TaskIx},
    words::{Attempt, EventKind, FailedCheck, RunPhase, serde_pairs},
};
use wf_model::{CheckPhase, Plan};

/// The state of the plan's own checks, and of evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct ProofState {
    /// The result of the plan's own criteria; `None`: they were not judged.
    judged: Option<bool>,
    /// The last phase of the plan's own checks to be over, unless it was the final one.
    passed: Option<CheckPhase>,
    /// The criteria of the plan that failed in this round.
    refuted: Vec<FailedCheck>,
    /// True if such a check passed although the steps may change everything it reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unbounded: bool,
    /// Tasks whose last result was checked against files with recorded digests.
    evidence: BTreeSet<TaskIx>,
    /// Tasks with stale evidence, each with a changed file.
    #[serde(with = "serde_pairs")]
    stale: BTreeMap<TaskIx, String>,
}

impl ProofState {
    /// Applies a fact, as far as it needs no other part.
    pub(in crate::machine::state) fn apply(&mut self, plan: &Plan, kind: &EventKind) {
        match kind {
            EventKind::CheckCompleted { attempt: None, verdict } => {
                self.judged = Some(self.judged.unwrap_or(true) && verdict.passed());
                self.is_unbounded |= verdict.is_unbounded;
                if !verdict.passed() {
                    self.refuted.push(verdict.into());
                }
            }
            EventKind::ChecksPassed { attempt: None, phase } => {
                self.passed = Some(*phase);
                // The next phase is judged by itself.
                self.judged = None;
            }
            EventKind::PhaseStarted { phase: RunPhase::Verify } => self.passed = None,
            EventKind::AttemptStarted(Attempt { task_id, .. }) | EventKind::CacheHit { task_id, .. } => {
                if let Some(task) = state::find_task_ix(plan, task_id) {
                    self.evidence.remove(&task);
                }
            }
            EventKind::EvidenceTaken { attempt, .. } => {
                self.evidence.extend(state::find_task_ix(plan, &attempt.task_id));
            }
            _ => {}
        }
    }

    /// Notes evidence of tasks.
    pub(in crate::machine::state) fn add_evidence(&mut self, tasks: impl IntoIterator<Item = TaskIx>) {
        self.evidence.extend(tasks);
    }

    /// Notes that the evidence of a task is stale.
    pub(in crate::machine::state) fn mark_stale(&mut self, task: TaskIx, path: String) {
        self.stale.insert(task, path);
    }

    /// Drops the evidence of a task.
    pub(in crate::machine::state) fn drop_evidence(&mut self, task: TaskIx) {
        self.evidence.remove(&task);
        self.stale.remove(&task);
    }

    /// Returns the tasks of a step with evidence.
    pub(in crate::machine::state) fn evidence_of(&self, step: u32) -> Vec<TaskIx> {
        self.evidence.iter().filter(|task| task.step == step).copied().collect()
    }

    /// Begins another round of the plan's own checks.
    pub(in crate::machine::state) fn reopen_plan(&mut self) {
        self.judged = None;
        self.refuted.clear();
    }

    /// Returns the result of the plan's own criteria; `None`: they were not judged.
    pub(in crate::machine) fn judged(&self) -> Option<bool> {
        self.judged
    }

    /// True if the plan's own criteria failed.
    pub(in crate::machine) fn is_refuted(&self) -> bool {
        self.judged == Some(false)
    }

    /// Returns the last phase of the plan's own checks to be over.
    pub(in crate::machine) fn passed_phase(&self) -> Option<CheckPhase> {
        self.passed
    }

    /// Returns the criteria of the plan that failed in this round.
    pub(in crate::machine) fn refuted_criteria(&self) -> &[FailedCheck] {
        &self.refuted
    }

    /// True if the steps may change everything that a passed check of the plan reads.
    pub(in crate::machine) fn is_unbounded(&self) -> bool {
        self.is_unbounded
    }

    /// Returns the tasks with evidence, in plan order.
    pub(in crate::machine) fn tasks_with_evidence(&self) -> impl Iterator<Item = TaskIx> {
        self.evidence.iter().copied()
    }

    /// Returns the tasks with stale evidence, each with a changed file, in plan order.
    pub(in crate::machine) fn stale_files(&self) -> &BTreeMap<TaskIx, String> {
        &self.stale
    }
}
