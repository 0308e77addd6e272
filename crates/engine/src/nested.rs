//! Plans that steps use, as runs inside the run.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::reuse::RepeatedRun;
use wf_core::machine::{AttemptEnd, Machine, RunOutcome, Standing, WorkExit};
use wf_exec::view::WorkspaceView;
use wf_exec::{StopLevel, WorkError};
use wf_model::{FailureClass, JsonObject, NestedPlan, Step, resolve_params};
use wf_store::NewRun;

use super::attempt_task::AttemptTask;
use super::dispatch::RunDispatcher;
use super::run::{RunContext, RunInputs};
use super::{EngineError, FinishedRun, copies, evidence};
use wf_core::observe::RunRef;

/// Runs the plan that a step uses. The same attempt always has the same nested run, so an
/// interrupted one is resumed.
pub(super) fn run<'a>(
    task: &'a AttemptTask,
    uses: &'a NestedPlan,
    step: &'a Step,
    stop: watch::Receiver<StopLevel>,
) -> Pin<Box<dyn Future<Output = Result<AttemptEnd, EngineError>> + Send + 'a>> {
    Box::pin(async move {
        let params = match params(task, uses) {
            Ok(params) => params,
            Err(unable) => return Ok(task.end_without_outputs(unable.into())),
        };
        let (dispatcher, spent) = prepare(task, uses, params)?;
        let nested = Arc::clone(&dispatcher.run);
        let (inner, heard) = watch::channel(*stop.borrow());
        let work = dispatcher.work(heard);
        let left = step.timeout.map(|limit| limit.saturating_sub(spent));
        let (finished, timed_out) = run_limited(work, left, stop.clone(), &inner).await;
        // A run that was not told to end was ended by a limit: this one's, or that of an engine
        // that died before it could report it.
        let finished = finished?;
        copies::adopt(&task.run, &task.attempt.place, &nested);
        let unasked = finished.outcome == RunOutcome::Cancelled && *stop.borrow() == StopLevel::No;
        let mut ended = attempt_end(task, finished, timed_out || unasked);
        if ended.standing.is_some_and(Standing::is_checked) {
            ended.seen = nested.evidence_files();
        }
        ended.usage = nested.usage();
        task.run.note_evidence(&task.attempt.place, &ended.seen);
        Ok(ended)
    })
}

/// Works on a nested run; passes stop requests on, and ends it when its time is up.
async fn run_limited(
    work: impl Future<Output = Result<FinishedRun, EngineError>>,
    left: Option<Duration>,
    mut stop: watch::Receiver<StopLevel>,
    inner: &watch::Sender<StopLevel>,
) -> (Result<FinishedRun, EngineError>, bool) {
    let mut work = std::pin::pin!(work);
    let mut limit = std::pin::pin!(tokio::time::sleep(left.unwrap_or_default()));
    let mut timed_out = false;
    let mut listening = true;
    loop {
        tokio::select! {
            finished = &mut work => return (finished, timed_out),
            () = &mut limit, if left.is_some() && !timed_out => {
                timed_out = true;
                inner.send_modify(|degree| *degree = (*degree).max(StopLevel::Gently));
            }
            changed = stop.changed(), if listening => {
                listening = changed.is_ok();
                let signal = *stop.borrow_and_update();
                inner.send_modify(|degree| *degree = (*degree).max(signal));
            }
        }
    }
}

/// Returns the parameters of a used plan. Text is read by the parameter's type, as on the command
/// line; a value that an expression gave keeps its type.
fn params(task: &AttemptTask, uses: &NestedPlan) -> Result<JsonObject, WorkError> {
    let none = BTreeMap::new();
    let declared = &uses.plan.parts().params;
    let mut values = JsonObject::new();
    for (name, template) in &uses.with {
        let value = task.with_template_values(&none, |known| template.value(known));
        let value = value.map_err(|error| WorkError::logical(error.to_string()))?;
        let param = declared.iter().find(|param| param.name == *name);
        let value = match (value, param) {
            (Value::String(text), Some(param)) if template.is_text() => param.schema.read(&text),
            (value, _) => value,
        };
        values.insert(name.to_string(), value);
    }
    resolve_params(declared, &values)
        .map_err(|bad| WorkError::logical(format!("{}: {}", uses.path, bad.problems.join("; "))))
}

/// Returns the nested run, ready to be worked on, and the time it has been under way.
fn prepare(
    task: &AttemptTask,
    uses: &NestedPlan,
    params: JsonObject,
) -> Result<(RunDispatcher, Duration), EngineError> {
    let outer = &task.run;
    let session = Arc::clone(&outer.session);
    let id = outer.run_ref.id.child(&task.attempt.to_string());
    let mut path = outer.run_ref.path.clone();
    path.push(task.attempt.place.to_string());
    let this = RunRef { id: id.clone(), plan: uses.plan.id().clone(), path };
    let mut machine = Machine::new(Arc::clone(&uses.plan), id.clone(), params.clone());
    let events = if task.since.is_some() { session.store.log_reader()?.events(&id, 0)? } else { Vec::new() };
    for (_, event) in &events {
        machine.replay(event)?;
    }
    let began = events.first().map(|(_, event)| event.at);
    let past = nested_past_run(task, &params)?;
    let past = match past {
        Some(past) if !events.is_empty() => Some(past.as_recorded(events.iter().map(|(_, event)| event))),
        past => session.without_changed(past)?,
    };
    let last = events.last().map(|(_, event)| event.at);
    let now = session.clock.now().max(last.unwrap_or_default());
    let spent = began.map_or(Duration::ZERO, |began| now.since(began));
    let new = events.is_empty().then(|| NewRun {
        plan: uses.plan.id().clone(),
        path: uses.path.clone(),
        params: params.clone(),
        parent: Some((outer.run_ref.id.clone(), task.attempt.to_string())),
        retry_of: past.as_ref().and_then(|past| past.run().cloned()),
        sources: Vec::new(),
        created: session.clock.now(),
        config: serde_json::Value::Null,
        claim: None,
    });
    let tenure = outer.ownership.clone();
    let plan = Arc::clone(&uses.plan);
    let within = |view: &Arc<WorkspaceView>| Arc::new(view.within(&plan, &params));
    let view = outer.view.as_ref().map(within);
    let errand = RunInputs {
        plan,
        params,
        past,
        view,
        pins: outer.pins.clone(),
        approved: outer.approved.clone(),
        evidence: evidence::recorded_files(events.iter().map(|(_, event)| event)),
    };
    let run = RunContext::new(session, this, errand, tenure)?;
    run.inherit(copies::kept_files(outer, Some(&task.attempt.place)));
    copies::release_recorded(&run, &events);
    let end = super::end::recorded_end(&id, &events);
    let dispatcher = RunDispatcher::new(run, machine, new, end).after_replay(&events);
    Ok((dispatcher, spent))
}

/// Returns the run that the nested run repeats: the one nested there in the run that the outer one
/// repeats. It is found anew on each request, so a resume finds the same.
fn nested_past_run(task: &AttemptTask, params: &JsonObject) -> Result<Option<RepeatedRun>, EngineError> {
    let Some(past) = &task.run.past else {
        return Ok(None);
    };
    let reader = task.run.session.store.log_reader()?;
    let key = task.item.as_ref().map(|item| item.key.as_str());
    let step = &task.attempt.place.step;
    Ok(past.nested(&reader, step, key, Some(params))?)
}

fn attempt_end(task: &AttemptTask, finished: FinishedRun, timed_out: bool) -> AttemptEnd {
    let exit = match finished.outcome {
        _ if timed_out => WorkExit::TimedOut,
        RunOutcome::Succeeded => WorkExit::Completed,
        RunOutcome::Cancelled => WorkExit::Cancelled,
        RunOutcome::Failed | RunOutcome::Abandoned => WorkExit::Error {
            reason: format!("nested run {} failed: {}", finished.run.short(), finished.reason),
            failure_class: FailureClass::Logical,
        },
    };
    let standing = Some(finished.standing);
    AttemptEnd { outputs: finished.outputs, standing, ..task.end_without_outputs(exit) }
}
