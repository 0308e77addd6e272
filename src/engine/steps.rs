//! Which step a place is of.

use std::sync::Arc;

use crate::machine::Place;
use crate::model::{Plan, Step, StepIx};

use super::run::Ongoing;

/// A step of a plan, with the plan.
pub(super) struct StepOf {
    plan: Arc<Plan>,
    ix: StepIx,
}

impl std::ops::Deref for StepOf {
    type Target = Step;

    fn deref(&self) -> &Step {
        self.plan.step(self.ix)
    }
}

/// The step of a place, as it is written: what no alternative replaces.
pub(super) fn written<'a>(run: &'a Ongoing, place: &Place) -> &'a Step {
    let ix = run.plan.find(place.step.as_str());
    run.plan
        .step(ix.expect("the machine names only steps of its plan"))
}

/// The step of a place, in the way in which it is done now.
pub(super) fn step_of(run: &Ongoing, place: &Place) -> StepOf {
    let plan = run.current();
    let ix = plan.find(place.step.as_str());
    let ix = ix.expect("the machine names only steps of its plan");
    StepOf { plan, ix }
}
