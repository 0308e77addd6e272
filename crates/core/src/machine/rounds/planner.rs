//! The planner: a program that is asked for an alternative when another round is ordered and no
//! declared one is left (artoo v0.8, R2 and R7; Silas 19.5.3).
//!
//! The round stays open in the meantime. The answer is checked against the blocked actuators and against
//! the reach of the step; it becomes a child of the plan or is refused, and is recorded either
//! way. The planner is asked at most once for a round, and once more after an answer with a forbidden use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    agent::authoring::CalibrationEntry,
    ggs::Directive,
    machine::{
        rounds::{
            actuator::tool_class,
            fan_in,
            measure::RoundMeasurement,
            request::{self, digest},
            restrictions::{self, PlannerLimits},
        },
        state::{Run, parts::control::ProposalDecision, plan_rules::extend_plan},
        words::{
            Effect, EventKind, PlanReply, PlannerRejection, ProposedAlternative, Round, StepState,
            reason::truncate_reason,
        },
    },
};
use wf_base::{exact_json, name::Name};
use wf_model::{Alternative, OnStuck, StepIx, StepWork, UniqueKeyJson};

/// The maximum length of a planner's answer, in bytes.
pub const ANSWER_LIMIT: usize = 256 * 1024;

/// The maximum stored length of a planner's reason, in characters.
const REASON_LIMIT: usize = 500;

/// A planner's proposal: alternatives by step, and the reason.
type PlannerProposal = (BTreeMap<Name, ProposedAlternative>, String);

/// The reason why a proposal is refused.
pub(in crate::machine) struct ProposalRefusal {
    reason: String,
    /// True if it uses something forbidden.
    is_forbidden: bool,
}

impl ProposalRefusal {
    /// Refuses plans for breaches of their envelopes.
    fn of_plans(problems: &[String]) -> Self {
        Self { reason: problems.join("; "), is_forbidden: true }
    }
}

impl From<String> for ProposalRefusal {
    fn from(reason: String) -> Self {
        Self { reason, is_forbidden: false }
    }
}

/// Asks the planner, if there is one and it has not been asked about this round. True if it is
/// being asked now.
pub(in crate::machine) fn consult(run: &mut Run, measured: &RoundMeasurement, round: &mut Round) -> bool {
    let parts = run.plan().parts();
    // People were asked about it: the planner has nothing to add.
    let is_escalated = measured.failing.iter().any(|failed| run.state().control.is_escalated(failed.step));
    let consults = parts.on_stuck != OnStuck::Abandon && parts.planner.is_some() && !is_escalated;
    let steps = can_change(run, measured);
    match run.state().control.planner_call() {
        None if consults && !steps.is_empty() => {}
        Some(planning) => {
            if let (Some(ProposalDecision::Refused(reason)), Some(stop_reason)) =
                (&planning.answer, &mut round.stop_reason)
            {
                stop_reason.push_str(&format!(", and the planner proposed none: {reason}"));
            }
            return false;
        }
        None => return false,
    }
    let names = steps.iter();
    let names = names.map(|step| run.base().step(StepIx(*step)).id.clone());
    run.emit(EventKind::PlannerRequested {
        round: round.round,
        plan_digest: digest(run.base()),
        steps: names.collect(),
    });
    ask_planner(run, measured, round.clone());
    true
}

fn ask_planner(run: &mut Run, measured: &RoundMeasurement, round: Round) {
    let request = Box::new(request::plan_request(run, measured, round));
    run.push_effect(Effect::Plan { request });
}

/// Asks again: after a resume, or after an answer with a forbidden use.
pub(in crate::machine) fn ask_planner_again(run: &mut Run) {
    if let Some((measured, round)) = fan_in::evaluate_round(run) {
        ask_planner(run, &measured, round);
    }
}

/// Returns the steps for a planner to change: the open ones; and the failed ones, or, if none failed
/// and the plan as a whole did, the successful ones.
pub(in crate::machine) fn can_change(run: &Run, measured: &RoundMeasurement) -> Vec<u32> {
    let has_failed =
        |step: u32| measured.failing.iter().any(|failed| failed.step == step && failed.may_change());
    let has_succeeded = |step: u32| run.state().step_record(step).state() == StepState::Succeeded;
    let is_at_fault =
        |step: u32| if measured.failing.is_empty() { has_succeeded(step) } else { has_failed(step) };
    let is_open = |step: u32| run.base().step(StepIx(step)).is_open();
    let mut steps: Vec<u32> = run.main_steps().filter(|step| is_at_fault(*step) || is_open(*step)).collect();
    // A wait and a decision of people have no other way.
    let has_ways = |step: &u32| {
        let work = &run.base().step(StepIx(*step)).work;
        !matches!(work, StepWork::Wait(_) | StepWork::Approve(_))
    };
    steps.retain(has_ways);
    steps
}

/// Applies the planner's output, or the reason why none counts. After a forbidden use, it is
/// asked once more.
pub(in crate::machine) fn on_planner_reply(run: &mut Run, reply: PlanReply) {
    let PlanReply { round, again, said, must_not, problems, calls } = reply;
    let planning = run.state().control.planner_call();
    let was_rejected = planning.is_some_and(|planning| planning.rejected.is_some());
    let is_expected = round == run.state().control.rounds().saturating_add(1) && again == was_rejected;
    if !run.is_planning() || !is_expected {
        return;
    }
    let proposed = if run.state().is_closing() {
        Err(ProposalRefusal::from("the run is being cancelled".to_owned()))
    } else {
        let said: Result<String, String> = said.into();
        let proposed =
            said.map_err(ProposalRefusal::from).and_then(|text| read_proposal(run, &text, &must_not));
        proposed.and_then(|proposal| {
            if problems.is_empty() { Ok(proposal) } else { Err(ProposalRefusal::of_plans(&problems)) }
        })
    };
    match proposed {
        Ok((ways, reason)) => {
            let parent = digest(run.base());
            let plan = digest(&extend_plan(run.base(), &ways));
            run.emit(EventKind::PlannerAccepted {
                round,
                plan_digest: plan,
                parent_digest: parent,
                alternatives: ways,
                reason,
                calls,
            });
        }
        Err(refusal) => {
            let reason = truncate_reason(one_line(&refusal.reason));
            let asked_again = refusal.is_forbidden && !again;
            run.emit(EventKind::PlannerRejected(PlannerRejection { round, reason, asked_again, calls }));
            if asked_again {
                return ask_planner_again(run);
            }
        }
    }
    fan_in::judge_round(run);
}

/// Reads the planner's output, and checks it against the blocked actuators, the steps in question
/// and the reach of the steps.
fn read_proposal(
    run: &Run,
    text: &str,
    must_not: &[CalibrationEntry],
) -> Result<PlannerProposal, ProposalRefusal> {
    let (ways, reason) = parse_proposal(text)?;
    let (measured, round) = fan_in::evaluate_round(run).ok_or_else(|| "no round is open".to_owned())?;
    let changeable = can_change(run, &measured);
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    let mut is_forbidden = false;
    for (name, proposal) in &ways {
        match read_alternative(run, name, proposal, &changeable) {
            Ok((ix, alternative)) => found.push((ix, proposal, alternative)),
            Err(reason) => refused.push(format!("step `{name}`: {reason}")),
        }
    }
    // All alternatives are taken, so what one step gives up is blocked for every other, too.
    let steps: Vec<u32> = found.iter().map(|(ix, ..)| ix.0).collect();
    let blocked = restrictions::blocked_actuators(run, &steps, &measured, &round);
    for (ix, proposal, alternative) in found {
        let limits = PlannerLimits { blocked: &blocked, directive: round.solved.directive, must_not };
        let uses = restrictions::forbidden_uses(run, ix, proposal, alternative, &limits);
        is_forbidden |= !uses.is_empty();
        refused.extend(uses.iter().map(|reason| format!("step `{}`: {reason}", run.base().step(ix).id)));
    }
    if !refused.is_empty() {
        return Err(ProposalRefusal { reason: refused.join("; "), is_forbidden });
    }
    Ok((ways, reason))
}

/// Returns the alternative proposed for a step, if the planner was asked about it.
fn read_alternative(
    run: &Run,
    name: &Name,
    proposal: &ProposedAlternative,
    changeable: &[u32],
) -> Result<(StepIx, Alternative), String> {
    let ix = run.base().find(name.as_str()).ok_or("no such step")?;
    if !changeable.contains(&ix.0) {
        return Err("no alternative was requested for it".into());
    }
    let alternative = proposal.alternative(run.base(), run.base().step(ix));
    Ok((ix, alternative.map_err(|mistake| mistake.to_string())?))
}

/// Returns the forbidden classes of tools: those used in this run, if the directive says so.
pub(in crate::machine) fn used_classes(run: &Run, directive: Directive) -> BTreeSet<String> {
    if directive != Directive::BreakSymmetry {
        return BTreeSet::new();
    }
    fan_in::tools_used(run).iter().map(|tool| tool_class(tool).to_owned()).collect()
}

/// Returns the steps with alternatives of the planner after the ended round.
pub(in crate::machine) fn steps_given_alternatives(run: &Run) -> Vec<u32> {
    let planning = run.state().control.planner_call();
    let Some(ProposalDecision::Taken(names)) = planning.and_then(|planning| planning.answer.as_ref()) else {
        return Vec::new();
    };
    let found = names.iter().filter_map(|name| run.base().find(name.as_str()));
    found.map(|ix| ix.0).collect()
}

/// Returns the plans in the output of a planner, by the steps that they are for; none if it cannot be read.
pub fn proposed_plans(text: &str) -> Vec<(Name, String)> {
    let ways = parse_proposal(text).map(|(ways, _)| ways).unwrap_or_default();
    ways.into_iter().filter_map(|(step, proposed)| Some((step, proposed.plan?))).collect()
}

/// Puts a planner's text on one line, without what a terminal interprets: it is shown beside
/// verified facts, and must not look like them.
fn one_line(text: &str) -> String {
    let plain = text.replace(char::is_control, " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads the output of a planner.
fn parse_proposal(text: &str) -> Result<PlannerProposal, String> {
    if text.len() > ANSWER_LIMIT {
        return Err(format!("output exceeds {ANSWER_LIMIT} bytes"));
    }
    let said: UniqueKeyJson =
        exact_json::read(text.trim()).map_err(|error| format!("output is not valid JSON: {error}"))?;
    let said = said.0;
    let members = said.as_object().ok_or("output is not a JSON object")?;
    let other = members.keys().find(|key| !["steps", "reason"].contains(&key.as_str()));
    if let Some(key) = other {
        return Err(format!("unknown key `{key}`: an answer has `steps` and `reason`"));
    }
    let reason = match members.get("reason") {
        None => String::new(),
        Some(Value::String(reason)) => one_line(reason).chars().take(REASON_LIMIT).collect(),
        Some(_) => return Err("`reason` is not a string".into()),
    };
    let steps = members.get("steps").and_then(Value::as_object);
    let steps = steps.ok_or("`steps` is missing")?;
    let (mut ways, mut refused) = (BTreeMap::new(), Vec::new());
    for (name, value) in steps {
        let step = Name::parse(name).map_err(|_| "no such step".to_owned());
        let proposed = ProposedAlternative::read(value).map_err(|mistake| mistake.to_string());
        match step.and_then(|step| Ok((step, proposed?))) {
            Ok((step, way)) => drop(ways.insert(step, way)),
            Err(reason) => refused.push(format!("step `{name}`: {reason}")),
        }
    }
    if !refused.is_empty() {
        return Err(refused.join("; "));
    }
    if ways.is_empty() {
        let because = if reason.is_empty() { "" } else { ": " };
        return Err(format!("it found no alternative{because}{reason}"));
    }
    Ok((ways, reason))
}
