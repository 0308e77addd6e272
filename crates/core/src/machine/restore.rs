//! The way from a stored state back to a machine.

use std::sync::Arc;

use crate::machine::planner::extend_plan;
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::task_phase::{TaskIndex, TaskPhase};
use crate::machine::turn::{LogicMismatch, Machine};
use crate::machine::words::LOGIC_VERSION;
use wf_base::digest::Sha256Digest;
use wf_base::name::{PlanId, RunId};
use wf_model::{Plan, StepRepetition};

/// The reason why a stored state cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// It was stored under other rules.
    #[error(transparent)]
    Logic(#[from] LogicMismatch),
    /// It is that of a run of another plan.
    #[error(
        "the stored state of run {run} does not fit plan `{plan}`, whose steps differ from those that the run \
         started with; restore it with that plan"
    )]
    Plan {
        /// The run.
        run: RunId,
        /// The plan that it was to be restored with.
        plan: PlanId,
    },
    /// It refers to steps that the plan does not have.
    #[error(
        "the stored state of run {run} is damaged: it names a step that does not exist; replay the run's log"
    )]
    Damaged {
        /// The run.
        run: RunId,
    },
}

impl Machine {
    /// Restores a run from its stored state and the plan as written. It is the machine to which a replay of
    /// the events so far would have led: further events may be replayed, then [`Machine::resume`] lets the run
    /// go on.
    pub fn from_state(plan: Arc<Plan>, mut state: MachineState) -> Result<Self, RestoreError> {
        let recorded_version = state.logic_version;
        if recorded_version != LOGIC_VERSION {
            return Err(LogicMismatch { recorded_version }.into());
        }
        if state.steps_digest != steps_digest(&plan) {
            return Err(RestoreError::Plan { run: state.run, plan: plan.id().clone() });
        }
        if state.refers_beyond(plan.steps().len()) {
            return Err(RestoreError::Damaged { run: state.run });
        }
        state.index = TaskIndex::scan(&state);
        let adopted = state.control.adopted.iter();
        let base = adopted.fold(plan, |base, ways| extend_plan(&base, ways));
        Ok(Self::with_state(base, state))
    }
}

impl TaskIndex {
    /// Returns the indexes over all records.
    pub(in crate::machine) fn scan(state: &MachineState) -> Self {
        let mut index = Self::default();
        for (task, record) in state.tasks() {
            index.note(task, TaskPhase::Pending, record.phase);
        }
        index
    }
}

impl MachineState {
    /// True if it does not have this number of steps, or refers to one beyond them.
    pub(in crate::machine) fn refers_beyond(&self, steps: usize) -> bool {
        let tasks = self.evidence.iter().chain(self.stale.keys()).chain(self.made.keys());
        let tasks = tasks.chain(self.asks.values().filter_map(|pending| pending.task.as_ref()));
        let blockers = self.steps.iter().filter_map(|record| record.blocker);
        let control = &self.control;
        let ways = control.ways.keys().chain(control.kinds.keys()).chain(control.tried.keys());
        let mut named = (tasks.map(|TaskIx { step, .. }| step).chain(ways).chain(self.left.keys()).copied())
            .chain(blockers)
            .chain(self.stopping.into_iter().chain(self.failed));
        self.steps.len() != steps || named.any(|step| step as usize >= steps)
    }
}

/// Returns the digest of what the numbers in a state refer to: the steps of a plan, in order.
pub(in crate::machine) fn steps_digest(plan: &Plan) -> Sha256Digest {
    let mut text = format!("{} {}", plan.id(), plan.parts().main);
    for step in plan.steps() {
        let repeated = !matches!(step.fan, StepRepetition::Once);
        text += &format!("\n{} {repeated}", step.id);
        text.extend(step.depends_on.iter().map(|ix| format!(" {}", ix.0)));
        text.extend(step.alternatives.iter().map(|way| format!(" {}", way.id)));
    }
    Sha256Digest::of_bytes(text.as_bytes())
}
