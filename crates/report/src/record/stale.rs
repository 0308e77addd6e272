use serde::Serialize;

use super::{RunRecord, record::task_of_row};
use wf_base::name::Name;
use wf_core::machine::StepState;
use wf_model::{Plan, StepIx, StepWork};

/// A successful step with a dependency on one with stale evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StaleDependant {
    pub step: Name,
    /// The step whose evidence is stale.
    pub on: Name,
}

impl RunRecord {
    /// True if the evidence of anything in it is stale.
    pub fn is_stale(&self) -> bool {
        let nested = self.nested.iter();
        let own = self.steps.iter().any(|row| row.stale.is_some());
        own || nested.map(|nested| &nested.record).any(Self::is_stale)
    }

    /// Notes the steps with a direct or indirect dependency on one with stale evidence. `plan`
    /// is the plan of the run.
    pub fn mark_stale_dependants(&mut self, plan: &Plan) {
        let stale = |step: &Name| {
            let mut rows = self.steps.iter().filter(|row| row.step == *step);
            rows.any(|row| row.stale.is_some() || self.nested_in(&task_of_row(row)).any(Self::is_stale))
        };
        let mut stale_steps: Vec<Option<StepIx>> = vec![None; plan.steps().len()];
        for ix in plan.order() {
            let behind = plan.step(ix).depends_on.iter().find_map(|ix| {
                let near = stale(&plan.step(*ix).id).then_some(*ix);
                near.or_else(|| stale_steps.get(ix.index()).copied().flatten())
            });
            if let Some(own) = stale_steps.get_mut(ix.index()) {
                *own = behind;
            }
        }
        let ran = |step: &Name| {
            let mut rows = self.steps.iter();
            let ran = [StepState::Succeeded, StepState::Failed];
            rows.any(|row| row.step == *step && ran.contains(&row.state))
        };
        let shaken = plan.steps().iter().zip(stale_steps);
        let shaken = shaken.filter_map(|(step, on)| {
            let on = plan.step(on?).id.clone();
            let step = step.id.clone();
            ran(&step).then_some(StaleDependant { step, on })
        });
        self.shaken = shaken.collect();
        for nested in &mut self.nested {
            let step = nested.attempt.split(['[', '#']).next().unwrap_or_default();
            if let Some(ix) = plan.find(step)
                && let StepWork::Uses(uses) = &plan.step(ix).work
            {
                nested.record.mark_stale_dependants(&uses.plan);
            }
        }
    }

    /// Returns the dependency of this step with stale evidence.
    pub fn stale_dependency(&self, step: &Name) -> Option<&Name> {
        let shaken = self.shaken.iter().find(|shaken| shaken.step == *step);
        shaken.map(|shaken| &shaken.on)
    }
}
