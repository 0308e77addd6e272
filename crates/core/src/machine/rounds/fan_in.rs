//! The fan-in gate and its consequences: a round of a plan with `replan` ends when all of its steps
//! have, and the solver decides how the run goes on (artoo v0.8, R4b and R7).
//!
//! Any failed step closes the gate: then the plan's own criteria are not even checked.

use std::collections::BTreeSet;

use crate::ggs::{self, Directive, SolverOutcome};
use crate::machine::rounds::actuator::{BlockedActuators, ChoiceConstraints, choose, kind};
use crate::machine::rounds::measure::RoundMeasurement;
use crate::machine::state::{Run, TaskIx};
use crate::machine::words::{
    AlternativeSwitch, EventKind, NO_ALTERNATIVE_LEFT, NOT_APPROVED, Round, RoundFailureClass, StepState,
};
use wf_base::name::Name;
use wf_model::{OnStuck, StepIx, StepWork};

impl Run {
    /// Judges the round that has ended, once. True if the run is not at its end: another round
    /// follows, or a planner or people are asked first.
    pub(in crate::machine) fn judge_round(&mut self) -> bool {
        let over = self.state.is_closing() || self.state.blocked.is_some();
        if over || self.state.control.closed {
            return false;
        }
        let Some((measured, mut round)) = self.evaluate_round() else {
            return false;
        };
        if shows_nothing(&round) {
            return false;
        }
        if round.stop_reason.as_deref() == Some(NO_ALTERNATIVE_LEFT) && self.consult(&measured, &mut round) {
            return true;
        }
        if round.exhaustion().is_some() {
            round.escalated = self.steps_to_escalate(&measured);
            if !round.escalated.is_empty() {
                round.reopened = self.steps_to_reopen(&measured, &[]);
            }
        }
        let goes_on = round.goes_on();
        if goes_on {
            self.turn.effects.retain(|effect| !effect.prepares());
        }
        self.emit(EventKind::RoundCompleted(Box::new(round)));
        goes_on
    }

    /// Measures the round that has ended and determines what would follow; `None` for a plan
    /// without rounds. Repeated while a planner is asked, it returns the same.
    pub(in crate::machine) fn evaluate_round(&self) -> Option<(RoundMeasurement, Round)> {
        let replan = self.plan.parts().replan.as_ref()?;
        let measured = self.measure();
        let began = self.state.started.unwrap_or(self.now);
        let control = &self.state.control;
        let ended = control.planning.as_ref().map(|planning| planning.since);
        let took = ended.unwrap_or(self.now).since(began);
        let measures = measured.measures(replan, control.replans, took);
        let solved = ggs::solve(replan, measures, control.past);
        let spent = control.replans >= replan.max_replans;
        let mut round = self.round(solved, &measured);
        round.rationale = solved.rationale(replan);
        if solved.directive == Directive::Success && self.has_unchecked_criteria() {
            round.rationale.push_str("; plan checks were not run");
        }
        round.alternatives = self.round_observations(&measured, solved.directive);
        if solved.directive.acts() {
            if spent {
                round.stop_reason = Some(match replan.max_replans {
                    0 => "`max_replans` is 0: no re-planning".into(),
                    of => format!("{of} of {of} re-planning rounds are used"),
                });
            } else if let Some(step) = self.unapproved_step(&measured) {
                round.stop_reason = Some(format!("{NOT_APPROVED}: `{step}` was not approved"));
            } else if !self.budget_round_left() {
                round.stop_reason = Some("the budget allows no further round".into());
            } else {
                self.redirect(&measured, &mut round);
            }
        }
        Some((measured, round))
    }

    /// Returns a step that people decide about and that failed: they said no, or did not answer in time, or could not be
    /// asked.
    fn unapproved_step(&self, measured: &RoundMeasurement) -> Option<&Name> {
        let failing = measured.failing.iter().map(|failed| self.base.step(StepIx(failed.step)));
        let mut decisions = failing.filter(|step| matches!(step.work, StepWork::Approve(_)));
        decisions.next().map(|step| &step.id)
    }

    /// Returns the record of a round before anything is done about it.
    pub(in crate::machine) fn round(&self, solved: SolverOutcome, measured: &RoundMeasurement) -> Round {
        let control = &self.state.control;
        Round {
            round: control.rounds.saturating_add(1),
            solved,
            previous: control.previous,
            checks: measured.criteria(),
            failed_check: measured.first.clone(),
            failure_class: measured.failure_class(),
            blocked_tools: control.blocked_tools.iter().cloned().collect(),
            blocked_targets: control.blocked_targets.iter().cloned().collect(),
            alternatives: Vec::new(),
            changes: Vec::new(),
            reopened: Vec::new(),
            escalated: Vec::new(),
            stop_reason: None,
            rationale: String::new(),
        }
    }

    /// Blocks what failed, and chooses other alternatives; if there are none, the run is stuck.
    fn redirect(&self, measured: &RoundMeasurement, round: &mut Round) {
        let directive = round.solved.directive;
        let mut blocked = self.blocked_by_rounds();
        for failed in &measured.failing {
            self.rule_out(failed.step, failed.cause, directive, &mut blocked);
        }
        let cause = measured.plan_cause();
        let answered = self.steps_given_alternatives();
        round.changes = if !answered.is_empty() {
            // All alternatives that a planner gave are taken.
            for step in answered.iter().filter(|_| measured.failing.is_empty()) {
                self.rule_out(*step, cause, directive, &mut blocked);
            }
            answered.iter().map(|step| self.change_to_last(*step)).collect()
        } else if measured.failing.is_empty() && cause == RoundFailureClass::Engine {
            // Nothing shows that another way would do.
            Vec::new()
        } else if measured.failing.is_empty() {
            // Every step passes, but not the plan as a whole: the last step that did something and
            // has another alternative changes, since the least depends on it.
            let steps = self.main_steps().rev();
            let did = |step: &u32| self.state.step_record(*step).state == StepState::Succeeded;
            let changed = steps.filter(did).find_map(|step| {
                let mut more = blocked.clone();
                self.rule_out(step, cause, directive, &mut more);
                let change = self.change(step, directive, &more)?;
                Some((change, more))
            });
            changed.map_or_else(Vec::new, |(change, more)| {
                blocked = more;
                vec![change]
            })
        } else {
            let failing = measured.failing.iter().filter(|failed| failed.may_change());
            let mut failing: Vec<u32> = failing.map(|failed| failed.step).collect();
            failing.sort_unstable();
            let changes = failing.into_iter();
            changes.filter_map(|step| self.change(step, directive, &blocked)).collect()
        };
        round.blocked_tools = blocked.tools.into_iter().collect();
        round.blocked_targets = blocked.targets.into_iter().collect();
        if round.changes.is_empty() {
            round.stop_reason = Some(NO_ALTERNATIVE_LEFT.into());
        } else {
            round.reopened = self.steps_to_reopen(measured, &round.changes);
        }
    }

    /// Blocks the tool of a step if its approach failed and is to change, and its target if the
    /// environment was in the way; nothing if the engine failed. `refine` keeps the target: it could not be carried out
    /// otherwise. An open step has done nothing.
    pub(in crate::machine) fn rule_out(
        &self,
        step: u32,
        cause: RoundFailureClass,
        directive: Directive,
        blocked: &mut BlockedActuators,
    ) {
        let written = self.base.step(StepIx(step));
        let way = self.state.control.alternative_of(step) as usize;
        if way == 0 && written.is_open() {
            return;
        }
        let approach = matches!(directive, Directive::ChangeApproach | Directive::BreakSymmetry);
        match cause {
            RoundFailureClass::Environmental if directive != Directive::Refine => {
                blocked.targets.extend(written.target(way).map(str::to_owned));
            }
            RoundFailureClass::Logical | RoundFailureClass::Mixed if approach => {
                blocked.tools.insert(written.tool(way));
            }
            // The engine's own failures show nothing of a tool or a target.
            _ => {}
        }
    }

    /// Returns the next change of a step, if an alternative is left.
    fn change(
        &self,
        step: u32,
        directive: Directive,
        blocked: &BlockedActuators,
    ) -> Option<AlternativeSwitch> {
        let control = &self.state.control;
        let written = self.base.step(StepIx(step));
        let bounds = ChoiceConstraints { blocked, used: &self.tools_used(), advice: &control.advice };
        let now = control.alternative_of(step);
        let (way, kind) = choose(written, now, &control.tried_alternatives(step), directive, &bounds)?;
        Some(self.change_to(step, way, kind))
    }

    /// Returns the change of a step to the alternative that was added last.
    fn change_to_last(&self, step: u32) -> AlternativeSwitch {
        let written = self.base.step(StepIx(step));
        let last = u32::try_from(written.alternative_count() - 1).unwrap_or(u32::MAX);
        let now = self.state.control.alternative_of(step);
        let kind = kind(written, now, last, &self.tools_used());
        self.change_to(step, last, kind)
    }

    pub(in crate::machine) fn change_to(&self, step: u32, way: u32, kind: Directive) -> AlternativeSwitch {
        let written = self.base.step(StepIx(step));
        let now = self.state.control.alternative_of(step);
        AlternativeSwitch {
            step: written.id.clone(),
            kind,
            from: written.alternative_id(now as usize).cloned(),
            to: written.alternative_id(way as usize).cloned(),
            tool: written.tool(way as usize),
            target: written.target(way as usize).map(str::to_owned),
        }
    }

    /// Returns the tools used in this run.
    pub(in crate::machine) fn tools_used(&self) -> BTreeSet<String> {
        let steps = (0_u32..).zip(self.base.steps());
        let begun = steps.filter(|(step, _)| self.has_run(*step));
        let tools = begun.flat_map(|(number, step)| {
            let ways = self.state.control.tried_alternatives(number).into_iter();
            ways.map(|way| step.tool(way as usize))
        });
        tools.collect()
    }

    fn has_run(&self, step: u32) -> bool {
        self.state.step_record(step).tasks().any(|(_, task)| task.attempts > 0)
    }

    /// Returns the steps that run again, in plan order: those that failed, were not reached or
    /// change, and all their dependents. Verified work stays.
    fn steps_to_reopen(&self, measured: &RoundMeasurement, changes: &[AlternativeSwitch]) -> Vec<Name> {
        let failing = measured.failing.iter().map(|failed| failed.step);
        let changed = changes.iter();
        let changed = changed.filter_map(|change| Some(self.plan.find(change.step.as_str())?.0));
        let mut open: Vec<u32> = failing.chain(changed).chain(measured.unreached.iter().copied()).collect();
        let mut again: BTreeSet<u32> = BTreeSet::new();
        while let Some(step) = open.pop() {
            if again.insert(step) {
                let dependents = self.plan.dependents(StepIx(step)).iter();
                open.extend(dependents.map(|ix| ix.0));
            }
        }
        let names = again.into_iter();
        names.map(|step| self.plan.step(StepIx(step)).id.clone()).collect()
    }
}

/// True if nothing of a round is evidence about the work, and no other way is left past what failed: it is not judged.
fn shows_nothing(round: &Round) -> bool {
    let accepted = matches!(round.solved.directive, Directive::Accept | Directive::Success);
    round.failure_class == Some(RoundFailureClass::Engine) && !accepted && !round.goes_on()
}

/// The number of rounds of re-planning after which people are asked (a5; a plan may grant fewer).
pub const REPLANS_BEFORE_PEOPLE: u32 = 2;

impl Run {
    /// Returns the steps about which people are asked as the controller has nothing left to try: all that failed, if
    /// people can guide each of them and were not asked about it.
    pub(in crate::machine) fn steps_to_escalate(&self, measured: &RoundMeasurement) -> Vec<Name> {
        let failed = measured.failing.iter().map(|failed| TaskIx { step: failed.step, item: None });
        let can_be_guided = |task: &TaskIx| {
            let step = self.plan.step(task.ix());
            let guided = step.on_stuck == OnStuck::Escalate && matches!(step.work, StepWork::Agent(_));
            guided && self.begun_this_round(task.step) && self.may_replan(*task)
        };
        if !failed.clone().all(|task| can_be_guided(&task)) || !self.budget_allows_attempt() {
            return Vec::new();
        }
        failed.map(|task| self.plan.step(task.ix()).id.clone()).collect()
    }

    /// True if another round may still change how a step is done.
    pub(in crate::machine) fn may_replan(&self, task: TaskIx) -> bool {
        let parts = self.plan.parts();
        let Some(replan) = parts.replan.as_ref().filter(|_| !self.plan.is_finally(task.ix())) else {
            return false;
        };
        if !self.state.control.escalated.is_empty() {
            return false;
        }
        let is_changeable = self.base.step(task.ix()).alternative_count() > 1 || parts.planner.is_some();
        is_changeable && self.state.control.replans < replan.max_replans.min(REPLANS_BEFORE_PEOPLE)
    }
}
