//! The choice of tools, as a planner is told of it: the forbidden, those preferred by memory, and the purpose.

use std::collections::BTreeSet;

use crate::{
    agent::authoring::CalibrationEntry,
    machine::{
        state::Run,
        words::{
            AdviceKind, AvoidedTool, PlanIntent, PlannerRestrictions, PreferredTool,
            requests::plan_request::is_named_like_step,
        },
    },
};

/// The maximum number of preferred tools for a planner.
const MOST_PREFERRED: usize = 10;

/// The tools and targets closed to further alternatives.
#[derive(Clone, Debug, Default)]
pub(in crate::machine) struct BlockedActuators {
    pub(in crate::machine) tools: BTreeSet<String>,
    pub(in crate::machine) targets: BTreeSet<String>,
}

/// Returns the blocked actuators since the last round.
pub(in crate::machine) fn blocked_by_rounds(run: &Run) -> BlockedActuators {
    let control = &run.state().control;
    BlockedActuators { tools: control.blocked_tools().clone(), targets: control.blocked_targets().clone() }
}

/// Returns the blocked actuators, as far as a text can name them: the name of a step is a word like any other.
pub(in crate::machine) fn restrictions_of_names(
    run: &Run,
    blocked: &BlockedActuators,
    must_not: &[CalibrationEntry],
) -> PlannerRestrictions {
    let mut avoid = avoided_tools(run);
    avoid.extend(must_not.iter().map(AvoidedTool::from));
    avoid.retain(|avoided| !is_named_like_step(run.base(), &avoided.tool));
    let tools = blocked.tools.iter().filter(|tool| !is_named_like_step(run.base(), tool));
    PlannerRestrictions {
        tools: tools.cloned().collect(),
        targets: blocked.targets.iter().cloned().collect(),
        classes: Vec::new(),
        avoid,
    }
}

/// Returns the purpose of the plan.
pub(in crate::machine) fn intent(run: &Run) -> PlanIntent {
    let parts = run.base().parts();
    PlanIntent {
        title: parts.title.clone(),
        description: parts.briefing.clone(),
        memory: run.state().control.intent_advice().cloned(),
    }
}

/// Returns the tools to avoid according to memory.
pub(in crate::machine) fn avoided_tools(run: &Run) -> Vec<AvoidedTool> {
    let advice = run.state().control.advice().iter();
    let avoided = advice.filter(|said| said.advice == AdviceKind::Avoid);
    let avoid = avoided.map(|said| AvoidedTool { tool: said.tool.clone(), target: said.target.clone() });
    avoid.collect()
}

/// Returns the tools preferred by memory: the best known ones.
pub(in crate::machine) fn preferred_tools(run: &Run) -> Vec<PreferredTool> {
    let advice = run.state().control.advice().iter();
    let mut liked: Vec<_> = advice.filter(|said| said.advice == AdviceKind::Exploit).collect();
    liked.sort_by(|a, b| b.attention.total_cmp(&a.attention));
    let liked = liked.into_iter().take(MOST_PREFERRED);
    liked.map(|said| PreferredTool { tool: said.tool.clone(), target: said.target.clone() }).collect()
}
