//! The tools and targets forbidden to a planner, and their uses in a proposal.

use crate::{
    agent::{authoring::CalibrationEntry, first_forbidden},
    calls::approach_of,
    ggs::Directive,
    machine::{
        rounds::{actuator::tool_class, fan_in, measure::RoundMeasurement, planner},
        state::{
            Run,
            tool_choice::{self, BlockedActuators},
        },
        words::{AdviceKind, ProposedAlternative, Round, ToolAdvice, advice::advice_about},
    },
};
use wf_model::{Alternative, StepIx};

/// The limits of a proposal.
pub(in crate::machine) struct PlannerLimits<'a> {
    /// The blocked tools and targets.
    pub(in crate::machine) blocked: &'a BlockedActuators,
    /// The directive of the round.
    pub(in crate::machine) directive: Directive,
    /// The tools forbidden by memory, as the planner was told.
    pub(in crate::machine) must_not: &'a [CalibrationEntry],
}

/// Returns the blocked actuators after a round with changes of these steps.
pub(in crate::machine) fn blocked_actuators(
    run: &Run,
    steps: &[u32],
    measured: &RoundMeasurement,
    round: &Round,
) -> BlockedActuators {
    let mut blocked = BlockedActuators {
        tools: round.blocked_tools.iter().cloned().collect(),
        targets: round.blocked_targets.iter().cloned().collect(),
    };
    if measured.failing.is_empty() {
        let cause = measured.plan_cause();
        let directive = round.solved.directive;
        for step in steps {
            fan_in::rule_out(run, *step, cause, directive, &mut blocked);
        }
    }
    blocked
}

/// Returns the forbidden uses in an alternative, a sentence each: of blocked actuators, of those memory says to
/// avoid, and under `break_symmetry` of a used class of tools.
pub(in crate::machine) fn forbidden_uses(
    run: &Run,
    ix: StepIx,
    proposal: &ProposedAlternative,
    alternative: Alternative,
    limits: &PlannerLimits<'_>,
) -> Vec<String> {
    let blocked = limits.blocked;
    let mut step = run.base().step(ix).clone();
    step.alternatives.push(alternative);
    let last = step.alternative_count() - 1;
    let (tool, target) = (step.tool(last), step.target(last));
    let mut uses = Vec::new();
    if blocked.tools.contains(&tool) {
        uses.push(format!("tool `{tool}` is blocked"));
    }
    if let Some(target) = target.filter(|target| blocked.targets.contains(*target)) {
        uses.push(format!("target `{target}` is blocked"));
    }
    let class = tool_class(&tool);
    if uses.is_empty() && planner::used_classes(run, limits.directive).contains(class) {
        uses.push(format!(
            "tool `{tool}` has class `{class}`, which this run already used; \
             `break_symmetry` requires another class"
        ));
    }
    let forbidding = limits.must_not.iter().find(|entry| entry.is_used(&step, last));
    let last = u32::try_from(last).unwrap_or(u32::MAX);
    // Unlike a declared alternative, it is refused even if every alternative is to be avoided:
    // there may be others that were not considered.
    let advice = run.state().control.advice();
    let avoided = |said: &&ToolAdvice| said.advice == AdviceKind::Avoid;
    let said = advice_about(advice, &step, last).filter(avoided);
    // What it does counts, whatever it is called.
    let approach = approach_of(&step, last as usize);
    let does = |said: &&ToolAdvice| Some(&said.tool) == approach.as_ref() && said.target.as_deref() == target;
    if let Some(said) = said.or_else(|| advice.iter().filter(avoided).find(does)) {
        let on = said.target.as_ref().map(|target| format!(" on `{target}`"));
        let on = on.unwrap_or_default();
        uses.push(format!("memory advises to avoid tool `{}`{on}", said.tool));
    } else if let Some(entry) = forbidding {
        uses.push(format!("it uses {entry}, which memory forbids: {}", entry.reason));
    }
    let must_not = tool_choice::restrictions_of_names(run, blocked, limits.must_not);
    let texts = proposal.texts().join("\n");
    uses.extend(first_forbidden(&texts, &must_not).map(|forbidden| format!("its text names {forbidden}")));
    uses
}
