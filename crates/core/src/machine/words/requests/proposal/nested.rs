use super::{ProposedAlternative, values::KnownReads};
use wf_model::{NestedPlan, Step, StepWork};

impl ProposedAlternative {
    /// Returns the nested plan with other parameters; `None` if it names none. Another plan is one that the step
    /// lists.
    pub(super) fn nested(&self, written: &NestedPlan, step: &Step) -> Result<Option<NestedPlan>, String> {
        if self.uses.is_none() && self.with.is_empty() {
            return Ok(None);
        }
        let path = self.uses.as_ref().unwrap_or(&written.path);
        let listed = step.ways().filter_map(|way| match &way.work {
            StepWork::Uses(nested) => Some(nested.as_ref()),
            _ => None,
        });
        let mut listed = listed.filter(|nested| nested.path == *path);
        let nested =
            listed.next().ok_or_else(|| format!("`uses`: the step does not list the plan {path}"))?;
        let mut nested = nested.clone();
        let known = KnownReads::of(written.with.iter().chain(&nested.with).map(|(_, value)| value));
        for (name, value) in &self.with {
            let key = format!("with.{name}");
            let mut params = nested.plan.parts().params.iter();
            let param = params.find(|param| param.name == *name);
            let param = param.ok_or_else(|| format!("`{key}`: plan {path} has no such parameter"))?;
            let value = known.value(&key, value)?;
            if let Some(mistake) = value.constant().and_then(|value| param.schema.first_mistake(&value)) {
                return Err(format!("`{key}`: {mistake}"));
            }
            match nested.with.iter_mut().find(|(own, _)| own == name) {
                Some((_, own)) => *own = value,
                None => nested.with.push((name.clone(), value)),
            }
        }
        Ok(Some(nested))
    }
}
