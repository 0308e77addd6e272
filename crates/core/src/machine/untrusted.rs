//! The untrusted text that agents were given, and the tools that it closes.

use crate::machine::state::{Machine, TaskIx};
use wf_model::taint::{TaintLevel, taints};
use wf_model::{Plan, StepIx, UntrustedRule};

/// A tool that untrusted text closes.
pub(in crate::machine) struct ClosedTool {
    pub(in crate::machine) rule: UntrustedRule,
    /// The source of that text.
    pub(in crate::machine) source: String,
}

/// Returns the source of a step's inputs that is not trusted; `None`: all are trusted, as the plan declares them.
pub fn untrusted_input(plan: &Plan, step: StepIx) -> Option<String> {
    let summary = taints(plan);
    let inputs = &summary.steps.get(plan.step(step).id.as_str())?;
    let mut all = inputs.inputs_taint.clone();
    all.mix_in(&inputs.item);
    let from = all.from.filter(|_| all.taint == TaintLevel::External)?;
    Some(format!("its values, from {from}"))
}

impl Machine {
    /// Returns the rule that closes a tool now.
    pub(in crate::machine) fn closed_tool(&self, task: TaskIx, tool: &str) -> Option<ClosedTool> {
        let source = self.state.task_record(task)?.untrusted.clone()?;
        let rule = self.agent_work(task)?.untrusted_rule(tool)?;
        Some(ClosedTool { rule, source })
    }
}
