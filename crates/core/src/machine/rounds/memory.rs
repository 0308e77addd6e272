//! The rounds and memory: advice takes effect when a run begins, and the findings of a round are what memory is made of.

use std::collections::BTreeSet;

use crate::{
    calls::calls_of_work,
    ggs::Directive,
    machine::{
        rounds::{actuator::kind, fan_in, measure::RoundMeasurement},
        state::Run,
        words::{
            AlternativeSwitch, EventKind, IntentAdvice, NestedFindings, RoundFailureClass, StepState,
            ToolAdvice, UsedAlternative,
            advice::{is_avoided, is_preferred},
        },
    },
};
use wf_model::StepIx;

/// Applies the advice from memory before anything begins: a step to be avoided as written
/// begins with another alternative.
pub(in crate::machine) fn apply_memory_advice(
    run: &mut Run,
    advice: Vec<ToolAdvice>,
    intent: Option<IntentAdvice>,
) {
    let nothing = advice.is_empty() && intent.is_none();
    let rounds = run.plan().parts().replan.is_some();
    if nothing || !rounds && !run.plan().guides_agents() {
        return;
    }
    let steps = run.main_steps().filter(|_| rounds);
    let changes = steps.filter_map(|step| begins_otherwise(run, step, &advice)).collect();
    run.emit(EventKind::MemoryApplied { intent, advice, changes });
}

fn begins_otherwise(run: &Run, step: u32, advice: &[ToolAdvice]) -> Option<AlternativeSwitch> {
    let written = run.base().step(StepIx(step));
    // A step reused from an earlier run uses no alternative.
    let over = run.state().step_record(step).is_over();
    if over || !is_avoided(advice, written, 0) {
        return None;
    }
    let others = (1_u32..).take(written.alternatives.len());
    let open = others.filter(|way| !is_avoided(advice, written, *way));
    let way = open.min_by_key(|way| (!is_preferred(advice, written, *way), *way))?;
    Some(fan_in::change_to(run, step, way, kind(written, 0, way, &std::collections::BTreeSet::new())))
}

/// Returns the findings of a round: the alternatives of the steps that failed; and, if the run
/// is accepted, those that passed and are not as written.
pub(in crate::machine) fn round_observations(
    run: &Run,
    measured: &RoundMeasurement,
    directive: Directive,
) -> Vec<UsedAlternative> {
    // A step that never began shows nothing about its alternative.
    let begun = |step: u32| run.begun_this_round(step);
    let failing = measured.failing.iter().filter(|failed| begun(failed.step));
    let failing = failing.map(|failed| used_alternative(run, failed.step, Some(failed.cause)));
    let accepted = matches!(directive, Directive::Accept | Directive::Success);
    let others = run.state().control.alternatives().iter();
    let others = others.filter(|(step, way)| {
        let has_succeeded = run.state().step_record(**step).state() == StepState::Succeeded;
        accepted && **way > 0 && has_succeeded && begun(**step)
    });
    failing.chain(others.map(|(step, _)| used_alternative(run, *step, None))).collect()
}

/// Returns the findings of its last round for a run around it.
pub(in crate::machine) fn findings(run: &Run) -> NestedFindings {
    let calls: BTreeSet<String> = run.main_steps().flat_map(|step| step_calls(run, step)).collect();
    let has_failed = |step: &u32| run.state().step_record(*step).state() == StepState::Failed;
    let mut failed = run.main_steps().filter(has_failed);
    let of_steps = failed.find_map(|step| step_failed_check(run, step));
    let of_plan = || run.state().proof.refuted_criteria().first().map(|failed| failed.criterion.to_string());
    NestedFindings {
        inside: None,
        calls: calls.into_iter().collect(),
        failed_check: of_steps.or_else(of_plan),
    }
}

fn step_failed_check(run: &Run, step: u32) -> Option<String> {
    run.state().step_record(step).tasks().find_map(|(_, task)| task.failed_check().cloned())
}

/// Returns the calls of a step in this round; none if nothing of it was begun.
fn step_calls(run: &Run, step: u32) -> BTreeSet<String> {
    if !run.begun_this_round(step) {
        return BTreeSet::new();
    }
    let mut calls = calls_of_work(&run.plan().step(StepIx(step)).work);
    let tasks = run.state().step_record(step).tasks();
    calls.extend(tasks.flat_map(|(_, task)| task.calls().iter().cloned()));
    calls
}

fn used_alternative(run: &Run, step: u32, failed: Option<RoundFailureClass>) -> UsedAlternative {
    let written = run.base().step(StepIx(step));
    let way = run.state().control.alternative_of(step) as usize;
    UsedAlternative {
        step: written.id.clone(),
        alternative: written.alternative_id(way).cloned(),
        tool: written.tool(way),
        target: written.target(way).map(str::to_owned),
        calls: step_calls(run, step).into_iter().collect(),
        failed_check: failed.and_then(|_| step_failed_check(run, step)),
        failure_class: failed,
        kind: run.state().control.change_kind(step),
    }
}
