//! The way from a stored state back to a machine.

use std::sync::Arc;

use crate::machine::{
    state::{
        LogicMismatch, MachineState, Run,
        plan_rules::{extend_plan, steps_digest},
        task_phase::TaskIndex,
    },
    words::LOGIC_VERSION,
};
use wf_base::name::{PlanId, RunId};
use wf_model::Plan;

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
    Plan { run: RunId, plan: PlanId },
    /// It refers to steps outside the plan.
    #[error(
        "the stored state of run {run} is damaged: it names a step that does not exist; replay the run's log"
    )]
    Damaged { run: RunId },
}

/// Restores a run from its stored state and the plan as written. It is the same run as after a replay of the events so
/// far.
pub(in crate::machine) fn restore(plan: Arc<Plan>, mut state: MachineState) -> Result<Run, RestoreError> {
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
    let adopted = state.control.adopted_alternatives().iter();
    let base = adopted.fold(plan, |base, ways| extend_plan(&base, ways));
    Ok(Run::with_state(base, state))
}
