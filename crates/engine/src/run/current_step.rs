//! The step of a task.

use std::sync::Arc;

use wf_core::machine::{TaskId, untrusted_input};
use wf_model::{Plan, Step, StepIx};

use super::context::RunContext;

/// A step of a plan, with the plan.
pub(crate) struct PlanStep {
    plan: Arc<Plan>,
    ix: StepIx,
}

impl PlanStep {
    /// Returns the source of its inputs that is not trusted, if there is one.
    pub(crate) fn untrusted_input(&self) -> Option<String> {
        untrusted_input(&self.plan, self.ix)
    }
}

impl std::ops::Deref for PlanStep {
    type Target = Step;

    fn deref(&self) -> &Step {
        self.plan.step(self.ix)
    }
}

/// Returns the step of a task, as written: the parts no alternative replaces.
pub(crate) fn written_step<'a>(run: &'a RunContext, place: &TaskId) -> &'a Step {
    let ix = run.plan.find(place.step.as_str());
    run.plan.step(ix.expect("the machine names only steps of its plan"))
}

/// Returns the step of a task, with the alternative now in use.
pub(crate) fn step_of(run: &RunContext, place: &TaskId) -> PlanStep {
    let plan = run.current_plan();
    let ix = plan.find(place.step.as_str());
    let ix = ix.expect("the machine names only steps of its plan");
    PlanStep { plan, ix }
}
