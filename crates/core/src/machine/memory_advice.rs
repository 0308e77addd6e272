//! Advice from memory on the alternatives of a plan's steps, and its effect when a run begins
//! (artoo v0.8, R2, memory action mapping): an alternative to be avoided must not be used, and one
//! to be exploited is preferred.

use crate::machine::actuator::kind;
use crate::machine::state::Machine;
use crate::machine::words::advice::{is_avoided, is_preferred};
use crate::machine::words::{AlternativeSwitch, EventKind, IntentAdvice, ToolAdvice};
use wf_model::StepIx;

impl Machine {
    /// Applies the advice from memory before anything begins: a step to be avoided as written
    /// begins with another alternative.
    pub(in crate::machine) fn apply_memory_advice(
        &mut self,
        advice: Vec<ToolAdvice>,
        intent: Option<IntentAdvice>,
    ) {
        let nothing = advice.is_empty() && intent.is_none();
        let rounds = self.plan.parts().replan.is_some();
        if nothing || !rounds && !self.plan.guides_agents() {
            return;
        }
        let steps = self.main_steps().filter(|_| rounds);
        let changes = steps.filter_map(|step| self.begins_otherwise(step, &advice)).collect();
        self.emit(EventKind::MemoryApplied { intent, advice, changes });
    }

    fn begins_otherwise(&self, step: u32, advice: &[ToolAdvice]) -> Option<AlternativeSwitch> {
        let written = self.base.step(StepIx(step));
        // A step reused from an earlier run uses no alternative.
        let over = self.state.step_record(step).state.is_final();
        if over || !is_avoided(advice, written, 0) {
            return None;
        }
        let others = (1_u32..).take(written.alternatives.len());
        let open = others.filter(|way| !is_avoided(advice, written, *way));
        let way = open.min_by_key(|way| (!is_preferred(advice, written, *way), *way))?;
        Some(self.change_to(step, way, kind(written, 0, way, &std::collections::BTreeSet::new())))
    }
}
