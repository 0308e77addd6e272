//! The controller's knowledge of a run: the fold of its rounds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ggs::{Directive, PreviousRound},
    machine::words::{
        AlternativeSwitch, CheckVerdict, CriteriaCount, EventKind, IntentAdvice, PlannerRejection,
        ProposedAlternative, Round, RunPhase, ToolAdvice, serde_pairs,
    },
};
use wf_base::{name::Name, time::Moment};
use wf_model::{CheckCertainty, Plan};

/// The controller's knowledge of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct ControllerState {
    /// The number of ended rounds.
    rounds: u32,
    /// The number of them followed by another.
    replans: u32,
    /// The data of the last round for the next one.
    past: PreviousRound,
    /// The last directive.
    previous: Option<Directive>,
    blocked_tools: BTreeSet<String>,
    blocked_targets: BTreeSet<String>,
    /// The advice from memory.
    advice: Vec<ToolAdvice>,
    /// The advice from memory on the plan's intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent: Option<IntentAdvice>,
    /// The alternative in use for each step not done as written.
    #[serde(with = "serde_pairs")]
    ways: BTreeMap<u32, u32>,
    /// The kind of their last change.
    #[serde(with = "serde_pairs")]
    kinds: BTreeMap<u32, Directive>,
    /// The abandoned alternatives of each step.
    #[serde(with = "serde_pairs")]
    tried: BTreeMap<u32, BTreeSet<u32>>,
    /// The numbers of failures and of rulings of each plausible criterion, over all rounds; those
    /// of the plan belong to no step.
    #[serde(with = "serde_pairs")]
    trials: BTreeMap<(Option<u32>, Name), (u32, u32)>,
    /// True if the gate to the plan's own criteria has opened, in this round or in an earlier one:
    /// they count from then on.
    #[serde(default)]
    opened: bool,
    /// The number of passing criteria, if the result was accepted with less than all.
    accepted: Option<CriteriaCount>,
    /// The reason why nothing more is tried.
    abandoned: Option<String>,
    /// The question to the planner about the ended round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planning: Option<PlannerCall>,
    /// The alternatives added to the plan by a planner, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    adopted: Vec<BTreeMap<Name, ProposedAlternative>>,
    /// The rounds so far, if there is a planner to inform.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<Round>,
    /// The steps people are asked about before their next attempt: the controller has nothing left to try.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    escalated: BTreeSet<u32>,
    /// True if the current round has been judged.
    closed: bool,
}

impl ControllerState {
    /// Applies a fact.
    pub(in crate::machine::state) fn apply(&mut self, plan: &Plan, at: Moment, kind: &EventKind) {
        match kind {
            EventKind::CheckCompleted { attempt, verdict } if plan.parts().replan.is_some() => {
                let step = attempt.as_ref().and_then(|attempt| plan.find(attempt.task_id.step.as_str()));
                self.count(step.map(|ix| ix.0), verdict);
            }
            EventKind::MemoryApplied { intent, advice, changes } => {
                self.intent.clone_from(intent);
                self.advice.clone_from(advice);
                for change in changes {
                    self.change(plan, change);
                }
            }
            EventKind::RoundCompleted(round) => self.close_round(plan, round),
            EventKind::PlannerRequested { .. } => self.note_planner(at, None),
            EventKind::PlannerAccepted { alternatives, .. } => {
                self.adopted.push(alternatives.clone());
                let steps = alternatives.keys().cloned().collect();
                self.note_planner(at, Some(ProposalDecision::Taken(steps)));
            }
            EventKind::PlannerRejected(rejection) => self.note_rejection(at, rejection),
            EventKind::PhaseStarted { phase: RunPhase::Verify } => self.opened = true,
            _ => {}
        }
    }

    /// Applies the end of a round.
    fn close_round(&mut self, plan: &Plan, round: &Round) {
        self.rounds = round.round;
        self.past = round.solved.past();
        self.previous = Some(round.solved.directive);
        self.blocked_tools = round.blocked_tools.iter().cloned().collect();
        self.blocked_targets = round.blocked_targets.iter().cloned().collect();
        self.closed = !round.goes_on();
        self.planning = None;
        if plan.parts().planner.is_some() {
            self.history.push(round.clone());
        }
        for change in &round.changes {
            if let Some(ix) = plan.find(change.step.as_str()) {
                let from = self.alternative_of(ix.0);
                self.tried.entry(ix.0).or_default().insert(from);
                self.change(plan, change);
            }
        }
        let escalated = round.escalated.iter().filter_map(|step| Some(plan.find(step.as_str())?.0));
        self.escalated.extend(escalated);
        if round.goes_on() {
            self.replans += u32::from(round.replans());
        } else if round.solved.directive == Directive::Success {
            self.accepted = Some(round.checks);
        } else if round.solved.directive != Directive::Accept {
            let reason = round.stop_reason.as_ref().unwrap_or(&round.rationale);
            self.abandoned = Some(reason.clone());
        }
    }

    /// Switches a step to another alternative.
    fn change(&mut self, plan: &Plan, switch: &AlternativeSwitch) {
        let Some(ix) = plan.find(switch.step.as_str()) else {
            return;
        };
        let to = plan.step(ix).way_of(switch.to.as_ref());
        if let Some(to) = to.and_then(|to| u32::try_from(to).ok()) {
            self.ways.insert(ix.0, to);
            self.kinds.insert(ix.0, switch.kind);
        }
    }

    /// Notes a question to the planner, or its answer.
    fn note_planner(&mut self, at: Moment, answer: Option<ProposalDecision>) {
        let (since, rejected) = match self.planning.take() {
            Some(planning) => (planning.since, planning.rejected),
            None => (at, None),
        };
        self.planning = Some(PlannerCall { since, answer, rejected });
    }

    /// Notes an unused answer of the planner.
    fn note_rejection(&mut self, at: Moment, rejection: &PlannerRejection) {
        let reason = rejection.reason.clone();
        self.note_planner(at, (!rejection.asked_again).then(|| ProposalDecision::Refused(reason.clone())));
        if let Some(planning) = self.planning.as_mut().filter(|_| rejection.asked_again) {
            planning.rejected = Some(reason);
        }
    }

    /// Counts a ruling on a criterion of a step, or of the plan.
    fn count(&mut self, step: Option<u32>, verdict: &CheckVerdict) {
        if verdict.certainty == CheckCertainty::Plausible {
            let trials = self.trials.entry((step, verdict.name.clone())).or_default();
            trials.0 += u32::from(!verdict.passed());
            trials.1 += 1;
        }
    }
}

impl ControllerState {
    /// Returns the number of ended rounds.
    pub(in crate::machine) fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns the number of rounds followed by another.
    pub(in crate::machine) fn replans(&self) -> u32 {
        self.replans
    }

    /// Returns the data of the last round for the next one.
    pub(in crate::machine) fn previous_round(&self) -> PreviousRound {
        self.past
    }

    /// Returns the last directive.
    pub(in crate::machine) fn last_directive(&self) -> Option<Directive> {
        self.previous
    }

    /// True if the current round has been judged.
    pub(in crate::machine) fn is_round_judged(&self) -> bool {
        self.closed
    }

    /// True if the plan's own criteria count: their gate has opened, in this round or in an earlier one.
    pub(in crate::machine) fn counts_plan_criteria(&self) -> bool {
        self.opened
    }

    /// Returns the tools blocked by the last round.
    pub(in crate::machine) fn blocked_tools(&self) -> &BTreeSet<String> {
        &self.blocked_tools
    }

    /// Returns the targets blocked by the last round.
    pub(in crate::machine) fn blocked_targets(&self) -> &BTreeSet<String> {
        &self.blocked_targets
    }

    /// Returns the advice from memory.
    pub(in crate::machine) fn advice(&self) -> &[ToolAdvice] {
        &self.advice
    }

    /// Returns the advice from memory on the plan's intent.
    pub(in crate::machine) fn intent_advice(&self) -> Option<&IntentAdvice> {
        self.intent.as_ref()
    }

    /// Returns the alternative in use for each step not done as written.
    pub(in crate::machine) fn alternatives(&self) -> &BTreeMap<u32, u32> {
        &self.ways
    }

    /// Returns the alternative in use for a step.
    pub(in crate::machine) fn alternative_of(&self, step: u32) -> u32 {
        self.ways.get(&step).copied().unwrap_or(0)
    }

    /// Returns the kind of the last change of a step.
    pub(in crate::machine) fn change_kind(&self, step: u32) -> Option<Directive> {
        self.kinds.get(&step).copied()
    }

    /// Returns the abandoned alternatives of a step, with the one in use.
    pub(in crate::machine) fn tried_alternatives(&self, step: u32) -> BTreeSet<u32> {
        let mut tried = self.tried.get(&step).cloned().unwrap_or_default();
        tried.insert(self.alternative_of(step));
        tried
    }

    /// Returns the steps with alternatives, in use or abandoned.
    pub(in crate::machine) fn changed_steps(&self) -> impl Iterator<Item = &u32> {
        self.ways.keys().chain(self.kinds.keys()).chain(self.tried.keys())
    }

    /// Returns the weight of a failed criterion: for a plausible one, its share of failures among
    /// all its rulings (artoo v0.8, D).
    pub(in crate::machine) fn weight(&self, step: Option<u32>, criterion: &Name) -> f64 {
        match self.trials.get(&(step, criterion.clone())) {
            Some((failed, of)) if *of > 0 => f64::from(*failed) / f64::from(*of),
            _ => 1.0,
        }
    }

    /// Returns the number of passing criteria, if the result was accepted with less than all.
    pub(in crate::machine) fn accepted_criteria(&self) -> Option<CriteriaCount> {
        self.accepted
    }

    /// Returns the reason why nothing more is tried.
    pub(in crate::machine) fn abandon_reason(&self) -> Option<&str> {
        self.abandoned.as_deref()
    }

    /// Returns the question to the planner about the ended round.
    pub(in crate::machine) fn planner_call(&self) -> Option<&PlannerCall> {
        self.planning.as_ref()
    }

    /// Returns the alternatives added by a planner, in order.
    pub(in crate::machine) fn adopted_alternatives(&self) -> &[BTreeMap<Name, ProposedAlternative>] {
        &self.adopted
    }

    /// Returns the rounds so far, if there is a planner to inform.
    pub(in crate::machine) fn past_rounds(&self) -> &[Round] {
        &self.history
    }

    /// True if people are asked about a step before its next attempt.
    pub(in crate::machine) fn is_escalated(&self, step: u32) -> bool {
        self.escalated.contains(&step)
    }

    /// True if people are asked about a step.
    pub(in crate::machine) fn has_escalated(&self) -> bool {
        !self.escalated.is_empty()
    }
}

/// A question to a planner and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct PlannerCall {
    /// The time of the question: a round is measured up to its end, however long the planner takes.
    pub(in crate::machine) since: Moment,
    /// The answer; `None`: there is none yet.
    pub(in crate::machine) answer: Option<ProposalDecision>,
    /// The reason why its first answer was refused, if it is asked once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) rejected: Option<String>,
}

/// The result of a question to a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) enum ProposalDecision {
    /// It proposed usable alternatives for these steps.
    Taken(Vec<Name>),
    /// It proposed none, for this reason.
    Refused(String),
}
