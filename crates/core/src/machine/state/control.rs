//! The controller's knowledge of a run: the fold of its rounds.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    ggs::{Directive, PreviousRound},
    machine::{
        state::{MachineState, fold::reopen},
        words::{
            AlternativeSwitch, Attempt, CheckVerdict, CriteriaCount, IntentAdvice, PlannerRejection,
            ProposedAlternative, Round, ToolAdvice, serde_pairs,
        },
    },
};
use wf_base::{name::Name, time::Moment};
use wf_model::{CheckCertainty, Plan};

/// The controller's knowledge of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct ControllerState {
    /// The number of rounds that have ended.
    pub(in crate::machine) rounds: u32,
    /// The number of them that were followed by another.
    pub(in crate::machine) replans: u32,
    /// The data of the last round that the next one needs.
    pub(in crate::machine) past: PreviousRound,
    /// The last directive.
    pub(in crate::machine) previous: Option<Directive>,
    pub(in crate::machine) blocked_tools: BTreeSet<String>,
    pub(in crate::machine) blocked_targets: BTreeSet<String>,
    /// The advice from memory.
    pub(in crate::machine) advice: Vec<ToolAdvice>,
    /// The advice from memory on the plan's intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) intent: Option<IntentAdvice>,
    /// The alternative in use for each step that is not done as written.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) ways: BTreeMap<u32, u32>,
    /// The kind of change that led to it.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) kinds: BTreeMap<u32, Directive>,
    /// The abandoned alternatives of each step.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) tried: BTreeMap<u32, BTreeSet<u32>>,
    /// The numbers of failures and of rulings of each plausible criterion, over all rounds; those
    /// of the plan belong to no step.
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) trials: BTreeMap<(Option<u32>, Name), (u32, u32)>,
    /// True if the gate to the plan's own criteria has opened, in this round or in an earlier one:
    /// they count from then on.
    #[serde(default)]
    pub(in crate::machine) opened: bool,
    /// The number of criteria that pass, if the result was accepted with less than all.
    pub(in crate::machine) accepted: Option<CriteriaCount>,
    /// The reason why nothing more is tried.
    pub(in crate::machine) abandoned: Option<String>,
    /// The question to the planner about the round that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) planning: Option<PlannerCall>,
    /// The alternatives that a planner added to the plan, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::machine) adopted: Vec<BTreeMap<Name, ProposedAlternative>>,
    /// The rounds so far, if there is a planner to inform.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::machine) history: Vec<Round>,
    /// The steps about which people are asked before their next attempt: the controller has nothing left to try.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(in crate::machine) escalated: BTreeSet<u32>,
    /// True if the current round has been judged.
    pub(in crate::machine) closed: bool,
}

impl ControllerState {
    /// Returns the alternative in use for a step.
    pub(in crate::machine) fn alternative_of(&self, step: u32) -> u32 {
        self.ways.get(&step).copied().unwrap_or(0)
    }

    /// Returns the abandoned alternatives of a step, with the one in use.
    pub(in crate::machine) fn tried_alternatives(&self, step: u32) -> BTreeSet<u32> {
        let mut tried = self.tried.get(&step).cloned().unwrap_or_default();
        tried.insert(self.alternative_of(step));
        tried
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
    pub(in crate::machine) fn note_planner(&mut self, at: Moment, answer: Option<ProposalDecision>) {
        let (since, rejected) = match self.planning.take() {
            Some(planning) => (planning.since, planning.rejected),
            None => (at, None),
        };
        self.planning = Some(PlannerCall { since, answer, rejected });
    }

    /// Notes an answer of the planner that is not used.
    pub(in crate::machine) fn note_rejection(&mut self, at: Moment, rejection: &PlannerRejection) {
        let reason = rejection.reason.clone();
        self.note_planner(at, (!rejection.asked_again).then(|| ProposalDecision::Refused(reason.clone())));
        if let Some(planning) = self.planning.as_mut().filter(|_| rejection.asked_again) {
            planning.rejected = Some(reason);
        }
    }

    /// Applies the advice from memory.
    pub(in crate::machine) fn take_advice(
        &mut self,
        plan: &Plan,
        intent: Option<&IntentAdvice>,
        advice: &[ToolAdvice],
        changes: &[AlternativeSwitch],
    ) {
        self.intent = intent.cloned();
        self.advice = advice.to_vec();
        for change in changes {
            self.change(plan, change);
        }
    }

    /// Counts a ruling on a criterion of a step, or of the plan.
    pub(in crate::machine) fn count(&mut self, step: Option<u32>, verdict: &CheckVerdict) {
        if verdict.certainty == CheckCertainty::Plausible {
            let trials = self.trials.entry((step, verdict.name.clone())).or_default();
            trials.0 += u32::from(!verdict.passed());
            trials.1 += 1;
        }
    }

    /// Returns the weight of a failed criterion: for a plausible one, its share of failures among
    /// all its rulings (artoo v0.8, D).
    pub(in crate::machine) fn weight(&self, step: Option<u32>, criterion: &Name) -> f64 {
        match self.trials.get(&(step, criterion.clone())) {
            Some((failed, of)) if *of > 0 => f64::from(*failed) / f64::from(*of),
            _ => 1.0,
        }
    }
}

/// Counts a ruling, if the run has rounds.
pub(in crate::machine) fn count_ruling(
    state: &mut MachineState,
    plan: &Plan,
    of: Option<&Attempt>,
    verdict: &CheckVerdict,
) {
    if plan.parts().replan.is_some() {
        let step = of.and_then(|attempt| plan.find(attempt.task_id.step.as_str()));
        state.control.count(step.map(|ix| ix.0), verdict);
    }
}

/// Applies the end of a round.
pub(in crate::machine) fn close_round(state: &mut MachineState, plan: &Plan, round: &Round, at: Moment) {
    let control = &mut state.control;
    control.rounds = round.round;
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
            let from = control.alternative_of(ix.0);
            control.tried.entry(ix.0).or_default().insert(from);
            control.change(plan, change);
        }
    }
    let escalated = round.escalated.iter().filter_map(|step| Some(plan.find(step.as_str())?.0));
    control.escalated.extend(escalated);
    if round.goes_on() {
        control.replans += u32::from(round.replans());
        control.closed = false;
        reopen::reopen(state, plan, &round.reopened, at);
    } else if round.solved.directive == Directive::Success {
        control.accepted = Some(round.checks);
        // The failures so far are accepted; a later failure of a `finally` step is not.
        state.failed = None;
    } else if round.solved.directive != Directive::Accept {
        let reason = round.stop_reason.as_ref().unwrap_or(&round.rationale);
        control.abandoned = Some(reason.clone());
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
