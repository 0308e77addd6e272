//! The end of a run.

use serde_json::Value;

use crate::{
    machine::{
        state::{
            self, Run, budget_limits,
            plan_rules::standing_of,
            scope::{self, TaskScope},
        },
        tasks::omission,
        words::{Effect, EventKind, FailureTally, RunOffers, RunOutcome, StaleFile, Standing},
    },
    suggestion::{SuggestionOffer, read_suggestions},
    undo::UndoOffer,
};
use wf_model::{JsonObject, StepIx, UndoPlan, resolve_params};

pub(in crate::machine) fn end_run(run: &mut Run) {
    let (outputs, broken) = scope::plan_outputs(run);
    let outputs = run.state().gates.published_outputs().cloned().unwrap_or(outputs);
    let (offers, unfit) = match offers(run, &outputs) {
        Ok(offers) => (offers, None),
        Err(reason) => (RunOffers::default(), Some(reason)),
    };
    let (outcome, mut reason) = verdict(run, broken.or(unfit));
    if outcome == RunOutcome::Succeeded {
        reason = omission::unverified_omission(run).unwrap_or_default();
    }
    let failed = run.state().failed_step().map(|step| run.plan().step(StepIx(step)).id.clone());
    let counts = run.state().counts();
    let checked = run.state().proof.judged();
    let standing = match outcome {
        // Stale results are not verified, whatever else was.
        RunOutcome::Succeeded if !run.state().proof.stale_files().is_empty() => Standing::Reported,
        // Nor are steps that failed verification, though they were allowed to fail.
        RunOutcome::Succeeded if run.state().has_refuted() => Standing::Reported,
        // Nor are steps whose checks a worker's outputs left out.
        RunOutcome::Succeeded if !reason.is_empty() => Standing::Reported,
        // Nor is what was checked by checks that the steps could change.
        RunOutcome::Succeeded if run.state().proof.is_unbounded() => Standing::Reported,
        // Nor is a result accepted with less than all criteria.
        RunOutcome::Succeeded if run.state().control.accepted_criteria().is_some() => Standing::Reported,
        // A judge of a step is not outvoted by the plan's own checks.
        RunOutcome::Succeeded if checked == Some(true) && counts.plausible > 0 => Standing::Plausible,
        RunOutcome::Succeeded if checked == Some(true) => standing_of(&run.plan().parts().verify),
        // Nor is a run with steps left out by choice.
        RunOutcome::Succeeded if run.state().is_partial() => Standing::Reported,
        RunOutcome::Succeeded if counts.reported == 0 && counts.plausible > 0 => Standing::Plausible,
        RunOutcome::Succeeded if counts.reported == 0 && counts.verified > 0 => Standing::Verified,
        RunOutcome::Succeeded => Standing::Reported,
        _ if checked == Some(false) => Standing::Refuted,
        _ => Standing::Unchecked,
    };
    let stale = run.state().proof.stale_files().iter();
    let stale = stale
        .map(|(task, path)| StaleFile { task_id: state::task_id(run.plan(), *task), path: path.clone() });
    let stale = stale.collect();
    let accepted = run.state().control.accepted_criteria();
    let outputs = if outcome == RunOutcome::Succeeded { outputs } else { JsonObject::new() };
    let failures = if outcome == RunOutcome::Succeeded { FailureTally::default() } else { run.failures() };
    run.emit(EventKind::RunEnded {
        outcome,
        reason,
        failed_step: failed,
        standing,
        counts,
        failures,
        stale,
        outputs: outputs.clone(),
        accepted: accepted.filter(|_| outcome == RunOutcome::Succeeded),
        offers: if outcome == RunOutcome::Succeeded { offers } else { RunOffers::default() },
    });
    run.push_effect(Effect::Finish { outputs });
}

fn verdict(run: &Run, broken: Option<String>) -> (RunOutcome, String) {
    let state = run.state();
    if let Some(cancelled) = state.cancellation() {
        return (RunOutcome::Cancelled, cancelled.reason.clone());
    }
    if state.is_timed_out() {
        return (RunOutcome::Failed, run.ending_reason());
    }
    if let Some(reason) = state.control.abandon_reason() {
        return (RunOutcome::Abandoned, reason.to_owned());
    }
    if let Some(reason) = budget_limits::exhausted_reason(run) {
        return (RunOutcome::Failed, reason);
    }
    let accepted = state.control.accepted_criteria().is_some();
    // A block comes before the `finally` steps, which may fail, too.
    if let Some(reason) = state.gates.block_reason() {
        return (RunOutcome::Failed, reason.to_owned());
    }
    if let Some(step) = state.failed_step() {
        return (RunOutcome::Failed, format!("step `{}` failed", run.plan().step(StepIx(step)).id));
    }
    if state.proof.is_refuted() && !accepted {
        let refuted: Vec<&str> =
            state.proof.refuted_criteria().iter().map(|failed| failed.criterion.as_str()).collect();
        return (RunOutcome::Failed, format!("plan checks failed: {}", refuted.join(", ")));
    }
    match broken {
        Some(reason) => (RunOutcome::Failed, reason),
        None => (RunOutcome::Succeeded, String::new()),
    }
}

/// Returns the runs that may follow this one, or the problem with them.
fn offers(run: &Run, outputs: &JsonObject) -> Result<RunOffers, String> {
    let (undo, suggests) = (undo_offer(run)?, suggestion_offer(run, outputs)?);
    Ok(RunOffers { undo: undo.map(Box::new), suggests: suggests.map(Box::new) })
}

/// Returns the means to undo the run, or the problem with them.
fn undo_offer(run: &Run) -> Result<Option<UndoOffer>, String> {
    let Some(UndoPlan { nested, within }) = run.plan().parts().undo.as_deref() else {
        return Ok(None);
    };
    let declared = &nested.plan.parts().params;
    let view = TaskScope { plan: run.plan(), state: run.state(), task: None };
    let mut given = JsonObject::new();
    for (name, template) in &nested.with {
        let value = template.value(&view).map_err(|error| format!("undo: parameter `{name}`: {error}"))?;
        let param = declared.iter().find(|param| param.name == *name);
        let value = match (value, param) {
            (Value::String(text), Some(param)) if template.is_text() => param.schema.read(&text),
            (value, _) => value,
        };
        given.insert(name.to_string(), value);
    }
    let params = resolve_params(declared, &given)
        .map_err(|bad| format!("undo: {}: {}", nested.path, bad.problems.join("; ")))?;
    Ok(Some(UndoOffer { path: nested.path.clone(), params, until: run.now().after(*within) }))
}

/// Returns the suggestions among the outputs of the run, or the problem with them.
fn suggestion_offer(run: &Run, outputs: &JsonObject) -> Result<Option<SuggestionOffer>, String> {
    let source = run.plan().parts().suggests.as_deref();
    let Some((source, value)) =
        source.and_then(|source| Some((source, outputs.get(source.output.as_str())?)))
    else {
        return Ok(None);
    };
    let read = read_suggestions(value, &source.plans);
    let suggestions = read.map_err(|reason| format!("output `{}`: {reason}", source.output))?;
    Ok((!suggestions.is_empty()).then_some(SuggestionOffer { suggestions, limits: source.limits }))
}
