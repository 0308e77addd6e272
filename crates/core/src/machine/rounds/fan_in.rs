//! The fan-in gate and its consequences: a round of a plan with `replan` ends when all of its steps
//! have, and the solver decides how the run goes on (artoo v0.8, R4b and R7).
//!
//! Any failed step closes the gate: then the plan's own criteria are not even checked.

use std::collections::BTreeSet;

use crate::{
    ggs::{self, Directive, SolverOutcome},
    machine::{
        rounds::{
            actuator::{ChoiceConstraints, choose, kind},
            measure::{self, RoundMeasurement},
            memory, planner,
        },
        state::{
            Run, TaskIx, budget_limits,
            follow_up::FollowUp,
            help,
            tool_choice::{self, BlockedActuators},
        },
        words::{
            AlternativeSwitch, EventKind, NO_ALTERNATIVE_LEFT, NOT_APPROVED, Round, RoundFailureClass,
            StepState,
        },
    },
};
use wf_base::name::Name;
use wf_model::{OnStuck, StepIx, StepWork};

/// Judges the ended round, once. The run is published, unless it is not at its end: another round follows, or
/// a planner or people are asked first.
pub(in crate::machine) fn judge_round(run: &mut Run) {
    if !goes_on_after_round(run) {
        run.then(FollowUp::Publish);
    }
}

/// Records the ended round, once. True if the run is not at its end.
fn goes_on_after_round(run: &mut Run) -> bool {
    let over = run.state().is_closing() || run.state().gates.is_blocked();
    if over || run.state().control.is_round_judged() {
        return false;
    }
    let Some((measured, mut round)) = evaluate_round(run) else {
        return false;
    };
    if shows_nothing(&round) {
        return false;
    }
    if round.stop_reason.as_deref() == Some(NO_ALTERNATIVE_LEFT)
        && planner::consult(run, &measured, &mut round)
    {
        return true;
    }
    if round.exhaustion().is_some() {
        round.escalated = steps_to_escalate(run, &measured);
        if !round.escalated.is_empty() {
            round.reopened = steps_to_reopen(run, &measured, &[]);
        }
    }
    let goes_on = round.goes_on();
    if goes_on {
        run.drop_preparations();
    }
    run.emit(EventKind::RoundCompleted(Box::new(round)));
    goes_on
}

/// Measures the ended round and determines the next one; `None` for a plan
/// without rounds. Repeated while a planner is asked, it returns the same.
pub(in crate::machine) fn evaluate_round(run: &Run) -> Option<(RoundMeasurement, Round)> {
    let replan = run.plan().parts().replan.as_ref()?;
    let measured = measure::measure(run);
    let began = run.state().started().unwrap_or(run.now());
    let control = &run.state().control;
    let ended = control.planner_call().map(|planning| planning.since);
    let took = ended.unwrap_or(run.now()).since(began);
    let measures = measured.measures(replan, control.replans(), took);
    let solved = ggs::solve(replan, measures, control.previous_round());
    let spent = control.replans() >= replan.max_replans;
    let mut round = round(run, solved, &measured);
    round.rationale = solved.rationale(replan);
    if solved.directive == Directive::Success && measure::has_unchecked_criteria(run) {
        round.rationale.push_str("; plan checks were not run");
    }
    round.alternatives = memory::round_observations(run, &measured, solved.directive);
    if solved.directive.acts() {
        if spent {
            round.stop_reason = Some(match replan.max_replans {
                0 => "`max_replans` is 0: no re-planning".into(),
                of => format!("{of} of {of} re-planning rounds are used"),
            });
        } else if let Some(step) = unapproved_step(run, &measured) {
            round.stop_reason = Some(format!("{NOT_APPROVED}: `{step}` was not approved"));
        } else if !budget_limits::allows_round(run) {
            round.stop_reason = Some("the budget allows no further round".into());
        } else {
            redirect(run, &measured, &mut round);
        }
    }
    Some((measured, round))
}

/// Returns a failed decision of people: they said no, or did not answer in time, or could not be
/// asked.
fn unapproved_step<'a>(run: &'a Run, measured: &RoundMeasurement) -> Option<&'a Name> {
    let failing = measured.failing.iter().map(|failed| run.base().step(StepIx(failed.step)));
    let mut decisions = failing.filter(|step| matches!(step.work, StepWork::Approve(_)));
    decisions.next().map(|step| &step.id)
}

/// Returns the record of a round before anything is done about it.
pub(in crate::machine) fn round(run: &Run, solved: SolverOutcome, measured: &RoundMeasurement) -> Round {
    let control = &run.state().control;
    Round {
        round: control.rounds().saturating_add(1),
        solved,
        previous: control.last_directive(),
        checks: measured.criteria(),
        failed_check: measured.first.clone(),
        failure_class: measured.failure_class(),
        blocked_tools: control.blocked_tools().iter().cloned().collect(),
        blocked_targets: control.blocked_targets().iter().cloned().collect(),
        alternatives: Vec::new(),
        changes: Vec::new(),
        reopened: Vec::new(),
        escalated: Vec::new(),
        stop_reason: None,
        rationale: String::new(),
    }
}

/// Blocks the failed actuators, and chooses other alternatives; if there are none, the run is stuck.
fn redirect(run: &Run, measured: &RoundMeasurement, round: &mut Round) {
    let directive = round.solved.directive;
    let mut blocked = tool_choice::blocked_by_rounds(run);
    for failed in &measured.failing {
        rule_out(run, failed.step, failed.cause, directive, &mut blocked);
    }
    let cause = measured.plan_cause();
    let answered = planner::steps_given_alternatives(run);
    round.changes = if !answered.is_empty() {
        // All alternatives that a planner gave are taken.
        for step in answered.iter().filter(|_| measured.failing.is_empty()) {
            rule_out(run, *step, cause, directive, &mut blocked);
        }
        answered.iter().map(|step| change_to_last(run, *step)).collect()
    } else if measured.failing.is_empty() && cause == RoundFailureClass::Engine {
        // Nothing shows that another way would do.
        Vec::new()
    } else if measured.failing.is_empty() {
        // Every step passes, but not the plan as a whole: the last step that did something and
        // has another alternative changes, since the least depends on it.
        let steps = run.main_steps().rev();
        let did = |step: &u32| run.state().step_record(*step).state() == StepState::Succeeded;
        let changed = steps.filter(did).find_map(|step| {
            let mut more = blocked.clone();
            rule_out(run, step, cause, directive, &mut more);
            let change = change(run, step, directive, &more)?;
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
        changes.filter_map(|step| change(run, step, directive, &blocked)).collect()
    };
    round.blocked_tools = blocked.tools.into_iter().collect();
    round.blocked_targets = blocked.targets.into_iter().collect();
    if round.changes.is_empty() {
        round.stop_reason = Some(NO_ALTERNATIVE_LEFT.into());
    } else {
        round.reopened = steps_to_reopen(run, measured, &round.changes);
    }
}

/// Blocks the tool of a step if its approach failed and is to change, and its target if the
/// environment was in the way; nothing if the engine failed. `refine` keeps the target: it could not be carried out
/// otherwise. An open step has done nothing.
pub(in crate::machine) fn rule_out(
    run: &Run,
    step: u32,
    class: RoundFailureClass,
    directive: Directive,
    blocked: &mut BlockedActuators,
) {
    let written = run.base().step(StepIx(step));
    let way = run.state().control.alternative_of(step) as usize;
    if way == 0 && written.is_open() {
        return;
    }
    let approach = matches!(directive, Directive::ChangeApproach | Directive::BreakSymmetry);
    match class {
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
    run: &Run,
    step: u32,
    directive: Directive,
    blocked: &BlockedActuators,
) -> Option<AlternativeSwitch> {
    let control = &run.state().control;
    let written = run.base().step(StepIx(step));
    let bounds = ChoiceConstraints { blocked, used: &tools_used(run), advice: control.advice() };
    let now = control.alternative_of(step);
    let (way, kind) = choose(written, now, &control.tried_alternatives(step), directive, &bounds)?;
    Some(change_to(run, step, way, kind))
}

/// Returns the change of a step to its last added alternative.
fn change_to_last(run: &Run, step: u32) -> AlternativeSwitch {
    let written = run.base().step(StepIx(step));
    let last = u32::try_from(written.alternative_count() - 1).unwrap_or(u32::MAX);
    let now = run.state().control.alternative_of(step);
    let kind = kind(written, now, last, &tools_used(run));
    change_to(run, step, last, kind)
}

pub(in crate::machine) fn change_to(run: &Run, step: u32, way: u32, kind: Directive) -> AlternativeSwitch {
    let written = run.base().step(StepIx(step));
    let now = run.state().control.alternative_of(step);
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
pub(in crate::machine) fn tools_used(run: &Run) -> BTreeSet<String> {
    let steps = (0_u32..).zip(run.base().steps());
    let begun = steps.filter(|(step, _)| has_run(run, *step));
    let tools = begun.flat_map(|(number, step)| {
        let ways = run.state().control.tried_alternatives(number).into_iter();
        ways.map(|way| step.tool(way as usize))
    });
    tools.collect()
}

fn has_run(run: &Run, step: u32) -> bool {
    run.state().step_record(step).tasks().any(|(_, task)| task.attempts() > 0)
}

/// Returns the steps that run again, in plan order: those that failed, were not reached or
/// change, and all their dependents. Verified work stays.
fn steps_to_reopen(run: &Run, measured: &RoundMeasurement, changes: &[AlternativeSwitch]) -> Vec<Name> {
    let failing = measured.failing.iter().map(|failed| failed.step);
    let changed = changes.iter();
    let changed = changed.filter_map(|change| Some(run.plan().find(change.step.as_str())?.0));
    let mut open: Vec<u32> = failing.chain(changed).chain(measured.unreached.iter().copied()).collect();
    let mut again: BTreeSet<u32> = BTreeSet::new();
    while let Some(step) = open.pop() {
        if again.insert(step) {
            let dependents = run.plan().dependents(StepIx(step)).iter();
            open.extend(dependents.map(|ix| ix.0));
        }
    }
    let names = again.into_iter();
    names.map(|step| run.plan().step(StepIx(step)).id.clone()).collect()
}

/// True if nothing of a round is evidence about the work, and no other way is left past what failed: it is not judged.
fn shows_nothing(round: &Round) -> bool {
    let accepted = matches!(round.solved.directive, Directive::Accept | Directive::Success);
    round.failure_class == Some(RoundFailureClass::Engine) && !accepted && !round.goes_on()
}

/// Returns the steps about which people are asked as the controller has nothing left to try: all that failed, if
/// people can guide each of them and were not asked about it.
fn steps_to_escalate(run: &Run, measured: &RoundMeasurement) -> Vec<Name> {
    let failed = measured.failing.iter().map(|failed| TaskIx { step: failed.step, item: None });
    let can_be_guided = |task: &TaskIx| {
        let step = run.plan().step(task.ix());
        let guided = step.on_stuck == OnStuck::Escalate && matches!(step.work, StepWork::Agent(_));
        guided && run.begun_this_round(task.step) && help::may_replan(run, *task)
    };
    if !failed.clone().all(|task| can_be_guided(&task)) || !budget_limits::allows_attempt(run) {
        return Vec::new();
    }
    failed.map(|task| run.plan().step(task.ix()).id.clone()).collect()
}
