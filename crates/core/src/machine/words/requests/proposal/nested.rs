//! Alternatives of a planner to a step with a nested plan: other parameters, or another plan.

use super::{ProposedAlternative, mistake::ProposalMistake, values::KnownReads};
use wf_model::{NestedPlan, Step, StepWork};

impl ProposedAlternative {
    /// Returns the nested plan with other parameters; `None` if it names none. Only a plan that the step
    /// lists may be named.
    pub(super) fn nested(
        &self,
        own_plan: &NestedPlan,
        step: &Step,
    ) -> Result<Option<NestedPlan>, ProposalMistake> {
        if self.uses.is_none() && self.with.is_empty() {
            return Ok(None);
        }
        let path = self.uses.as_ref().unwrap_or(&own_plan.path);
        let listed_plans = step.ways().filter_map(|way| match &way.work {
            StepWork::Uses(nested_plan) => Some(nested_plan.as_ref()),
            _ => None,
        });
        let mut listed_plans = listed_plans.filter(|nested_plan| nested_plan.path == *path);
        let nested = listed_plans.next().ok_or_else(|| ProposalMistake::UnlistedPlan(path.clone()))?;
        let mut nested = nested.clone();
        let known = KnownReads::of(own_plan.with.iter().chain(&nested.with).map(|(_, value)| value));
        for (name, value) in &self.with {
            let key = format!("with.{name}");
            let mut params = nested.plan.parts().params.iter();
            let param = params.find(|param| param.name == *name);
            let unknown = || ProposalMistake::UnknownParam { key: key.clone(), plan: path.clone() };
            let param = param.ok_or_else(unknown)?;
            let value = known.value(&key, value)?;
            if let Some(mistake) = value.constant().and_then(|value| param.schema.first_mistake(&value)) {
                return Err(ProposalMistake::Misfit { key, mistake });
            }
            match nested.with.iter_mut().find(|(with_name, _)| with_name == name) {
                Some((_, with_value)) => *with_value = value,
                None => nested.with.push((name.clone(), value)),
            }
        }
        Ok(Some(nested))
    }
}
