//! The tools and targets that a planner must not use, and what of them a proposal uses.

use crate::agent::authoring::CalibrationEntry;
use crate::agent::first_forbidden;
use crate::calls::approach_of;
use crate::ggs::Directive;
use crate::machine::rounds::actuator::{BlockedActuators, tool_class};
use crate::machine::rounds::measure::RoundMeasurement;
use crate::machine::state::Run;
use crate::machine::words::advice::advice_about;
use crate::machine::words::requests::plan_request::is_named_like_step;
use crate::machine::words::{
    AdviceKind, AvoidedTool, PlannerRestrictions, ProposedAlternative, Round, ToolAdvice,
};
use wf_model::{Alternative, StepIx};

/// The limits of a proposal.
pub(in crate::machine) struct PlannerLimits<'a> {
    /// The blocked tools and targets.
    pub(in crate::machine) blocked: &'a BlockedActuators,
    /// The directive of the round.
    pub(in crate::machine) directive: Directive,
    /// The tools that memory forbids, as the planner was told.
    pub(in crate::machine) must_not: &'a [CalibrationEntry],
}

impl Run {
    /// Returns what is blocked after a round in which these steps change.
    pub(in crate::machine) fn blocked_actuators(
        &self,
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
                self.rule_out(*step, cause, directive, &mut blocked);
            }
        }
        blocked
    }

    /// Returns what an alternative uses that is forbidden, a sentence each: what is blocked, what memory says to
    /// avoid, and under `break_symmetry` a class of tools that was used.
    pub(in crate::machine) fn forbidden_uses(
        &self,
        ix: StepIx,
        proposal: &ProposedAlternative,
        alternative: Alternative,
        limits: &PlannerLimits<'_>,
    ) -> Vec<String> {
        let blocked = limits.blocked;
        let mut step = self.base.step(ix).clone();
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
        if uses.is_empty() && self.used_classes(limits.directive).contains(class) {
            uses.push(format!(
                "tool `{tool}` has class `{class}`, which this run already used; \
                 `break_symmetry` requires another class"
            ));
        }
        let forbidding = limits.must_not.iter().find(|entry| entry.is_used(&step, last));
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        // Unlike a declared alternative, it is refused even if every alternative is to be avoided:
        // there may be others that were not considered.
        let advice = &self.state.control.advice;
        let avoided = |said: &&ToolAdvice| said.advice == AdviceKind::Avoid;
        let said = advice_about(advice, &step, last).filter(avoided);
        // What it does counts, whatever it is called.
        let approach = approach_of(&step, last as usize);
        let does =
            |said: &&ToolAdvice| Some(&said.tool) == approach.as_ref() && said.target.as_deref() == target;
        if let Some(said) = said.or_else(|| advice.iter().filter(avoided).find(does)) {
            let on = said.target.as_ref().map(|target| format!(" on `{target}`"));
            let on = on.unwrap_or_default();
            uses.push(format!("memory advises to avoid tool `{}`{on}", said.tool));
        } else if let Some(entry) = forbidding {
            uses.push(format!("it uses {entry}, which memory forbids: {}", entry.reason));
        }
        let must_not = self.restrictions_of_names(blocked, limits.must_not);
        let texts = proposal.texts().join("\n");
        uses.extend(
            first_forbidden(&texts, &must_not).map(|forbidden| format!("its text names {forbidden}")),
        );
        uses
    }

    /// Returns what is blocked, as far as a text can name it: the name of a step is a word like any other.
    pub(in crate::machine) fn restrictions_of_names(
        &self,
        blocked: &BlockedActuators,
        must_not: &[CalibrationEntry],
    ) -> PlannerRestrictions {
        let mut avoid = self.avoided_tools();
        avoid.extend(must_not.iter().map(AvoidedTool::from));
        avoid.retain(|avoided| !is_named_like_step(&self.base, &avoided.tool));
        let tools = blocked.tools.iter().filter(|tool| !is_named_like_step(&self.base, tool));
        PlannerRestrictions {
            tools: tools.cloned().collect(),
            targets: blocked.targets.iter().cloned().collect(),
            classes: Vec::new(),
            avoid,
        }
    }

    /// Returns what is blocked since the last round.
    pub(in crate::machine) fn blocked_by_rounds(&self) -> BlockedActuators {
        let control = &self.state.control;
        BlockedActuators { tools: control.blocked_tools.clone(), targets: control.blocked_targets.clone() }
    }
}
