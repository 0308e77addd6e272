//! Steps whose agents ask a planner or people when they are stuck.

use super::StepSpec;
use crate::decode::{MappingFields, SpecDecoder};
use wf_base::diag::{Code, Diagnostic};
use wf_model::{FailureClass, OnStuck, ReworkLimit};

/// The number of failed attempts after which a planner is asked.
pub(in crate::ast) const ENOUGH: u32 = 3;

impl StepSpec {
    /// Returns the reaction when its agent keeps failing, given what its plan says. No other step has one.
    pub fn own_on_stuck(&self, plan_on_stuck: Option<OnStuck>) -> OnStuck {
        let on_stuck = self.on_stuck.as_ref().map(|stuck| stuck.value).or(plan_on_stuck);
        on_stuck.filter(|_| self.agent.is_some()).unwrap_or_default()
    }

    /// True if its agent asks a planner after failed attempts, given what its plan says.
    pub fn consults_planner(&self, plan_on_stuck: Option<OnStuck>) -> bool {
        self.own_on_stuck(plan_on_stuck) == OnStuck::ConsultPlanner
    }

    /// Returns the number of attempts that failed checks can lead to.
    pub(in crate::ast) fn most_attempts(&self) -> u32 {
        let retry = self.retry.as_deref();
        let logical = |on: &Vec<FailureClass>| on.contains(&FailureClass::Logical);
        let retry = retry.filter(|retry| retry.on.as_ref().is_none_or(logical));
        let loops = self.loops.as_ref().and_then(|loops| loops.max);
        let loops = loops.unwrap_or_else(|| ReworkLimit::default().max);
        let reworked = !self.inspect.is_empty() || !self.test.is_empty();
        let loops = if reworked { loops } else { 0 };
        retry.map_or(0, |retry| retry.max).saturating_add(loops).saturating_add(1)
    }
}

/// Notes an `on_stuck` that cannot have an effect.
pub(super) fn check_step(step: &StepSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if !fields.has("on_stuck") {
        return;
    }
    if !fields.has("agent") {
        let message = "`on_stuck` is only valid for a step with `agent`: nothing else reads guidance";
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key("on_stuck"), message);
        decoder.emit(
            mistake.with_help("leave it out; `alternatives` and `replan` change how other steps are done"),
        );
    } else if step.consults_planner(None) && step.most_attempts() < ENOUGH {
        let message = format!(
            "`on_stuck` has no effect: the planner is asked after {ENOUGH} failed attempts, and the step has at most {}",
            step.most_attempts()
        );
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("on_stuck"), message);
        decoder
            .emit(mistake.with_help("write `retry: {max: 2}` or more; failed checks are `logical` failures"));
    }
}
