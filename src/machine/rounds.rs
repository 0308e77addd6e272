//! The fan-in gate and what follows from it: a round of a plan with `replan` ends when all of its
//! steps have, and the solver decides where the run goes (artoo v0.8, R4b and R7).
//!
//! Any failed step closes the gate: then the plan's own criteria are not even asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::actuator::{Bounds, choose, kind};
use super::measure::Measured;
use super::{Change, Fact, Machine, Round, StepState};
use crate::ggs::{self, Directive, Solved};
use crate::model::{Plan, StepIx};
use crate::name::Name;

/// Why a run ends for which another round was ordered, and no declared way is left.
pub const NO_WAY: &str = "no other way is left";

impl Machine {
    /// Judges the round that has ended, once. True if the run is not at its end: another round
    /// follows, or the planner is asked first.
    pub(super) fn judge_round(&mut self) -> bool {
        let over = self.state.closing() || self.state.blocked.is_some();
        if over || self.state.control.closed {
            return false;
        }
        let Some((measured, mut round)) = self.weigh() else {
            return false;
        };
        if round.stuck.as_deref() == Some(NO_WAY) && self.consult(&measured, &mut round) {
            return true;
        }
        let goes_on = round.goes_on();
        if goes_on {
            self.turn.effects.retain(|effect| !effect.prepares());
        }
        self.emit(Fact::RoundClosed(Box::new(round)));
        goes_on
    }

    /// What the round that has ended came to, and what would follow; `None` for a plan that has no
    /// rounds. Asked again while a planner is asked, it says the same.
    pub(super) fn weigh(&self) -> Option<(Measured, Round)> {
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
        if solved.directive == Directive::Success && self.is_unasked() {
            round
                .rationale
                .push_str("; the plan's own criteria were not asked");
        }
        round.ways = self.showed(&measured, solved.directive);
        if solved.directive.acts() {
            if spent {
                round.stuck = Some(match replan.max_replans {
                    0 => "`max_replans` is 0: nothing is tried another way".into(),
                    of => format!("{of} of {of} rounds of replanning are used"),
                });
            } else if !self.budget_round_left() {
                round.stuck = Some("the budget has no other round".into());
            } else {
                self.redirect(&measured, &mut round);
            }
        }
        Some((measured, round))
    }

    /// What is known of a round before anything is done about it.
    fn round(&self, solved: Solved, measured: &Measured) -> Round {
        let control = &self.state.control;
        Round {
            number: control.rounds.saturating_add(1),
            solved,
            previous: control.previous,
            criteria: measured.criteria(),
            failed: measured.first.clone(),
            class: measured.class(),
            blocked_tools: control.blocked_tools.iter().cloned().collect(),
            blocked_targets: control.blocked_targets.iter().cloned().collect(),
            ways: Vec::new(),
            changes: Vec::new(),
            reopened: Vec::new(),
            stuck: None,
            rationale: String::new(),
        }
    }

    /// Blocks what failed, and chooses other ways; if there are none, the run is stuck.
    fn redirect(&self, measured: &Measured, round: &mut Round) {
        let directive = round.solved.directive;
        let mut tools = self.state.control.blocked_tools.clone();
        let mut targets = self.state.control.blocked_targets.clone();
        for (step, logical) in &measured.failing {
            self.rule_out(*step, *logical, directive, (&mut tools, &mut targets));
        }
        let logical = measured.class() != Some(super::Blame::Environmental);
        let answered = self.given_ways();
        round.changes = if !answered.is_empty() {
            // What a planner gave is taken, all of it.
            for step in answered.iter().filter(|_| measured.failing.is_empty()) {
                self.rule_out(*step, logical, directive, (&mut tools, &mut targets));
            }
            answered
                .iter()
                .map(|step| self.change_to_last(*step))
                .collect()
        } else if measured.failing.is_empty() {
            // Every step holds, and the whole does not: the last step that did something and can be
            // done otherwise is, since the least hangs on it.
            let steps = (0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX)).rev();
            let did = |step: &u32| self.state.slot(*step).state == StepState::Succeeded;
            let changed = steps.filter(did).find_map(|step| {
                let (mut tools, mut targets) = (tools.clone(), targets.clone());
                self.rule_out(step, logical, directive, (&mut tools, &mut targets));
                let change = self.change(step, directive, (&tools, &targets))?;
                Some((change, tools, targets))
            });
            changed.map_or_else(Vec::new, |(change, more_tools, more_targets)| {
                (tools, targets) = (more_tools, more_targets);
                vec![change]
            })
        } else {
            let mut failing: Vec<u32> = measured.failing.iter().map(|(step, _)| *step).collect();
            failing.sort_unstable();
            let changes = failing.into_iter();
            changes
                .filter_map(|step| self.change(step, directive, (&tools, &targets)))
                .collect()
        };
        round.blocked_tools = tools.into_iter().collect();
        round.blocked_targets = targets.into_iter().collect();
        if round.changes.is_empty() {
            round.stuck = Some(NO_WAY.into());
        } else {
            round.reopened = self.reopened(measured, &round.changes);
        }
    }

    /// Blocks what a step was done with: its tool where the approach is to change and failed, its
    /// target where the world was in the way. `refine` keeps the target: it could not be carried
    /// out else.
    pub(super) fn rule_out(
        &self,
        step: u32,
        logical: bool,
        directive: Directive,
        (tools, targets): (&mut BTreeSet<String>, &mut BTreeSet<String>),
    ) {
        let written = self.base.step(StepIx(step));
        let way = self.state.control.way(step) as usize;
        let approach = matches!(
            directive,
            Directive::ChangeApproach | Directive::BreakSymmetry
        );
        if logical && approach {
            tools.insert(written.tool(way));
        } else if !logical && directive != Directive::Refine {
            targets.extend(written.target(way).map(str::to_owned));
        }
    }

    /// The next way to do a step, if one is left.
    fn change(
        &self,
        step: u32,
        directive: Directive,
        (tools, targets): (&BTreeSet<String>, &BTreeSet<String>),
    ) -> Option<Change> {
        let control = &self.state.control;
        let written = self.base.step(StepIx(step));
        let bounds = Bounds {
            tools,
            targets,
            used: &self.tools_used(),
            advice: &control.advice,
        };
        let now = control.way(step);
        let (way, kind) = choose(written, (now, &control.tried(step)), directive, &bounds)?;
        Some(self.change_to(step, way, kind))
    }

    /// The change of a step to the way that was added last.
    fn change_to_last(&self, step: u32) -> Change {
        let written = self.base.step(StepIx(step));
        let last = u32::try_from(written.ways() - 1).unwrap_or(u32::MAX);
        let now = self.state.control.way(step);
        let kind = kind(written, (now, last), &self.tools_used());
        self.change_to(step, last, kind)
    }

    fn change_to(&self, step: u32, way: u32, kind: Directive) -> Change {
        let written = self.base.step(StepIx(step));
        let now = self.state.control.way(step);
        Change {
            step: written.id.clone(),
            kind,
            from: written.way_id(now as usize).cloned(),
            to: written.way_id(way as usize).cloned(),
            tool: written.tool(way as usize),
            target: written.target(way as usize).map(str::to_owned),
        }
    }

    /// The tools that steps were done with in this run.
    pub(super) fn tools_used(&self) -> BTreeSet<String> {
        let steps = (0_u32..).zip(self.base.steps());
        let begun = steps.filter(|(step, _)| self.has_run(*step));
        let tools = begun.flat_map(|(number, step)| {
            let ways = self.state.control.tried(number).into_iter();
            ways.map(|way| step.tool(way as usize))
        });
        tools.collect()
    }

    fn has_run(&self, step: u32) -> bool {
        let slot = self.state.slot(step);
        let many = slot.many.as_ref().map_or(&[][..], |many| &many.slots);
        let mut places = std::iter::once(&slot.once).chain(many);
        places.any(|place| place.attempts > 0)
    }

    /// The steps that run again: what failed, what was not reached, what is done otherwise, and
    /// all that depends on any of that, in plan order. Verified work stays.
    fn reopened(&self, measured: &Measured, changes: &[Change]) -> Vec<Name> {
        let failing = measured.failing.iter().map(|(step, _)| *step);
        let changed = changes.iter();
        let changed = changed.filter_map(|change| Some(self.plan.find(change.step.as_str())?.0));
        let mut open: Vec<u32> = failing
            .chain(changed)
            .chain(measured.unreached.iter().copied())
            .collect();
        let mut again: BTreeSet<u32> = BTreeSet::new();
        while let Some(step) = open.pop() {
            if again.insert(step) {
                let dependents = self.plan.dependents(StepIx(step)).iter();
                open.extend(dependents.map(|ix| ix.0));
            }
        }
        let names = again.into_iter();
        names
            .map(|step| self.plan.step(StepIx(step)).id.clone())
            .collect()
    }

    /// How many times the controller has let steps begin anew.
    pub fn replans(&self) -> u32 {
        self.state.control.replans
    }

    /// The plan as it is carried out now: some of its steps may be done in other ways than they
    /// are written.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

/// The plan whose steps are done in some ways.
pub(super) fn in_ways(base: &Arc<Plan>, ways: &BTreeMap<u32, u32>) -> Arc<Plan> {
    if ways.is_empty() {
        Arc::clone(base)
    } else {
        base.in_ways(ways)
    }
}
