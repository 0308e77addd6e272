//! What the controller knows of a run: the fold of its rounds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::pairs;
use super::planner::{Answer, Planning};
use super::state::State;
use super::{Advised, Attempt, Change, Criteria, Fact, IntentAdvice, Round, Verdict};
use crate::ggs::{Directive, Past};
use crate::model::{Class, Mode, Plan};
use crate::name::Name;

/// What the controller knows of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Control {
    /// How many rounds have ended.
    pub(super) rounds: u32,
    /// How many of them were followed by another.
    pub(super) replans: u32,
    /// What the next round must know of the last one.
    pub(super) past: Past,
    /// What was ordered last.
    pub(super) previous: Option<Directive>,
    pub(super) blocked_tools: BTreeSet<String>,
    pub(super) blocked_targets: BTreeSet<String>,
    /// What memory says.
    pub(super) advice: Vec<Advised>,
    /// What memory says about the plan's intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) intent: Option<IntentAdvice>,
    /// The way that each step is done in, where that is not as it is written.
    #[serde(with = "pairs")]
    pub(super) ways: BTreeMap<u32, u32>,
    /// The sort of change that led to it.
    #[serde(with = "pairs")]
    pub(super) kinds: BTreeMap<u32, Directive>,
    /// The ways of each step that were given up.
    #[serde(with = "pairs")]
    pub(super) tried: BTreeMap<u32, BTreeSet<u32>>,
    /// How often each plausible criterion failed, and how often it was judged, over all rounds;
    /// those of the plan are of no step.
    #[serde(with = "pairs")]
    pub(super) trials: BTreeMap<(Option<u32>, Name), (u32, u32)>,
    /// Whether the gate to the plan's own criteria has opened, in this round or in an earlier one:
    /// they count from then on.
    #[serde(default)]
    pub(super) opened: bool,
    /// The plan's own criteria that do not hold.
    pub(super) refuted: Vec<(Name, Option<Class>)>,
    /// How many criteria hold, if the result was accepted with less than all.
    pub(super) accepted: Option<Criteria>,
    /// Why nothing more is tried.
    pub(super) abandoned: Option<String>,
    /// What the planner was asked about the round that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) planning: Option<Planning>,
    /// The rounds so far, where there is a planner to be told of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) history: Vec<Round>,
    /// Whether the round that goes on has been judged.
    pub(super) closed: bool,
}

impl Control {
    /// The way a step is done in.
    pub(super) fn way(&self, step: u32) -> u32 {
        self.ways.get(&step).copied().unwrap_or(0)
    }

    /// The ways of a step that were given up, with the one it is done in now.
    pub(super) fn tried(&self, step: u32) -> BTreeSet<u32> {
        let mut tried = self.tried.get(&step).cloned().unwrap_or_default();
        tried.insert(self.way(step));
        tried
    }

    /// Lets a step be done in another way.
    fn change(&mut self, plan: &Plan, change: &Change) {
        let Some(ix) = plan.find(change.step.as_str()) else {
            return;
        };
        let step = plan.step(ix);
        let mut ways = (0_u32..).take(step.ways());
        if let Some(to) = ways.find(|way| step.way_id(*way as usize) == change.to.as_ref()) {
            self.ways.insert(ix.0, to);
            self.kinds.insert(ix.0, change.kind);
        }
    }

    /// Counts a ruling on a criterion of a step, or of the plan.
    pub(super) fn count(&mut self, step: Option<u32>, verdict: &Verdict) {
        if step.is_none() && !verdict.passed() {
            self.refuted.push((verdict.name.clone(), verdict.class));
        }
        if verdict.mode == Mode::Plausible {
            let trials = self.trials.entry((step, verdict.name.clone())).or_default();
            trials.0 += u32::from(!verdict.passed());
            trials.1 += 1;
        }
    }

    /// How much the failure of a criterion weighs: a plausible one as often as it failed of all
    /// the times that it was judged (artoo v0.8, D).
    pub(super) fn weight(&self, step: Option<u32>, criterion: &Name) -> f64 {
        match self.trials.get(&(step, criterion.clone())) {
            Some((failed, of)) if *of > 0 => f64::from(*failed) / f64::from(*of),
            _ => 1.0,
        }
    }
}

impl State {
    /// Takes in that the planner was asked, or what became of that.
    pub(super) fn planner(&mut self, at: crate::time::Moment, fact: &Fact) {
        let planning = &mut self.control.planning;
        let answer = match fact {
            Fact::PlannerAnswered { ways, .. } => {
                Some(Answer::Taken(ways.keys().cloned().collect()))
            }
            Fact::PlannerRefused { why, .. } => Some(Answer::Refused(why.clone())),
            _ => None,
        };
        let since = planning.as_ref().map_or(at, |planning| planning.since);
        *planning = Some(Planning { since, answer });
    }

    /// Takes in what memory says.
    pub(super) fn take_advice(&mut self, plan: &Plan, fact: &Fact) {
        let Fact::MemoryAdvised {
            intent,
            advice,
            changes,
        } = fact
        else {
            return;
        };
        self.control.intent.clone_from(intent);
        self.control.advice.clone_from(advice);
        for change in changes {
            self.control.change(plan, change);
        }
    }

    /// Counts a ruling, if the run has rounds.
    pub(super) fn count_ruling(&mut self, plan: &Plan, of: Option<&Attempt>, verdict: &Verdict) {
        if plan.parts().replan.is_some() {
            let step = of.and_then(|attempt| plan.find(attempt.place.step.as_str()));
            self.control.count(step.map(|ix| ix.0), verdict);
        }
    }

    /// Takes the end of a round into account.
    pub(super) fn close_round(&mut self, plan: &Plan, round: &Round, at: crate::time::Moment) {
        let control = &mut self.control;
        control.rounds = round.number;
        control.past = round.solved.past();
        control.previous = Some(round.solved.directive);
        control.blocked_tools = round.blocked_tools.iter().cloned().collect();
        control.blocked_targets = round.blocked_targets.iter().cloned().collect();
        control.closed = true;
        control.planning = None;
        if plan.parts().planner.is_some() {
            control.history.push(round.clone());
        }
        for change in &round.changes {
            if let Some(ix) = plan.find(change.step.as_str()) {
                let from = control.way(ix.0);
                control.tried.entry(ix.0).or_default().insert(from);
                control.change(plan, change);
            }
        }
        if round.goes_on() {
            control.replans += 1;
            control.refuted.clear();
            control.closed = false;
            self.reopen(plan, &round.reopened, at);
        } else if round.solved.directive == Directive::Success {
            control.accepted = Some(round.criteria);
            // What failed is accepted; a `finally` step that fails later is not.
            self.failed = None;
        } else if round.solved.directive != Directive::Accept {
            let why = round.stuck.as_ref().unwrap_or(&round.rationale);
            control.abandoned = Some(why.clone());
        }
    }
}
