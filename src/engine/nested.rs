//! Plans that steps use, as runs inside the run.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::exec::view::View;
use crate::exec::{Stop, Unable};
use crate::machine::{Ended, Exit, Machine, Outcome, Standing};
use crate::model::{Class, Object, Step, Uses, resolve_params};
use crate::repeat::Past;
use crate::store::NewRun;

use super::dispatch::Dispatcher;
use super::run::{Errand, Ongoing};
use super::unit::Task;
use super::{EngineError, Finished, RunRef, evidence};

/// Runs the plan that a step uses. The same attempt always has the same nested run, so that one
/// that was under way goes on where it was.
pub(super) fn run<'a>(
    task: &'a Task,
    uses: &'a Uses,
    step: &'a Step,
    stop: watch::Receiver<Stop>,
) -> Pin<Box<dyn Future<Output = Result<Ended, EngineError>> + Send + 'a>> {
    Box::pin(async move {
        let params = match params(task, uses) {
            Ok(params) => params,
            Err(unable) => return Ok(task.ended(unable.into())),
        };
        let (dispatcher, spent) = prepare(task, uses, params)?;
        let nested = Arc::clone(&dispatcher.run);
        let (inner, heard) = watch::channel(*stop.borrow());
        let work = dispatcher.work(heard);
        let left = step.timeout.map(|limit| limit.saturating_sub(spent));
        let (finished, timed_out) = limited(work, left, stop.clone(), &inner).await;
        // Only a limit ends a run that nobody told to end: this one's, or that of an engine that
        // died before it could say so.
        let finished = finished?;
        let unasked = finished.outcome == Outcome::Cancelled && *stop.borrow() == Stop::No;
        let mut ended = ended(task, finished, timed_out || unasked);
        if ended.standing == Some(Standing::Verified) {
            ended.seen = nested.seen();
        }
        ended.usage = nested.usage();
        task.run.note_evidence(&task.attempt.place, &ended.seen);
        Ok(ended)
    })
}

/// Works on a nested run; passes on what it is told, and tells it to end when its time is up.
async fn limited(
    work: impl Future<Output = Result<Finished, EngineError>>,
    left: Option<Duration>,
    mut stop: watch::Receiver<Stop>,
    inner: &watch::Sender<Stop>,
) -> (Result<Finished, EngineError>, bool) {
    let mut work = std::pin::pin!(work);
    let mut limit = std::pin::pin!(tokio::time::sleep(left.unwrap_or_default()));
    let mut timed_out = false;
    let mut listening = true;
    loop {
        tokio::select! {
            finished = &mut work => return (finished, timed_out),
            () = &mut limit, if left.is_some() && !timed_out => {
                timed_out = true;
                inner.send_modify(|degree| *degree = (*degree).max(Stop::Gently));
            }
            changed = stop.changed(), if listening => {
                listening = changed.is_ok();
                let told = *stop.borrow_and_update();
                inner.send_modify(|degree| *degree = (*degree).max(told));
            }
        }
    }
}

/// The parameters that a plan is given. Text is read by the type that the parameter asks for, as
/// it is on the command line; a value that an expression gave keeps its type.
fn params(task: &Task, uses: &Uses) -> Result<Object, Unable> {
    let none = BTreeMap::new();
    let declared = &uses.plan.parts().params;
    let mut given = Object::new();
    for (name, template) in &uses.with {
        let value = task.known(&none, |known| template.value(known));
        let value = value.map_err(|error| Unable::logical(error.to_string()))?;
        let param = declared.iter().find(|param| param.name == *name);
        let value = match (value, param) {
            (Value::String(text), Some(param)) if template.is_text() => param.schema.read(&text),
            (value, _) => value,
        };
        given.insert(name.to_string(), value);
    }
    resolve_params(declared, &given)
        .map_err(|bad| Unable::logical(format!("{}: {}", uses.path, bad.problems.join("; "))))
}

/// The nested run, ready to be worked on, and how long it has been under way.
fn prepare(
    task: &Task,
    uses: &Uses,
    params: Object,
) -> Result<(Dispatcher, Duration), EngineError> {
    let outer = &task.run;
    let session = Arc::clone(&outer.session);
    let id = outer.this.id.child(&task.attempt.to_string());
    let mut path = outer.this.path.clone();
    path.push(task.attempt.place.to_string());
    let this = RunRef {
        id: id.clone(),
        plan: uses.plan.id().clone(),
        path,
    };
    let mut machine = Machine::new(Arc::clone(&uses.plan), id.clone(), params.clone());
    let events = if task.since.is_some() {
        session.store.log_reader()?.events(&id, 0)?
    } else {
        Vec::new()
    };
    for (_, event) in &events {
        machine.replay(event)?;
    }
    let began = events.first().map(|(_, event)| event.at);
    let past = past(task, &params)?;
    let past = match past {
        Some(past) if !events.is_empty() => {
            Some(past.as_recorded(events.iter().map(|(_, event)| event)))
        }
        past => session.checked(past)?,
    };
    let last = events.last().map(|(_, event)| event.at);
    let now = session.clock.now().max(last.unwrap_or_default());
    let spent = began.map_or(Duration::ZERO, |began| now.since(began));
    let new = events.is_empty().then(|| NewRun {
        plan: uses.plan.id().clone(),
        path: uses.path.clone(),
        params: params.clone(),
        parent: Some((outer.this.id.clone(), task.attempt.to_string())),
        retry_of: past.as_ref().and_then(|past| past.run().cloned()),
        sources: Vec::new(),
        created: session.clock.now(),
        config: serde_json::Value::Null,
        claim: None,
    });
    let tenure = outer.tenure.clone();
    let plan = Arc::clone(&uses.plan);
    let within = |view: &Arc<View>| Arc::new(view.within(&plan, &params));
    let view = outer.view.as_ref().map(within);
    let errand = Errand {
        plan,
        params,
        past,
        view,
        pins: outer.pins.clone(),
        approved: outer.approved.clone(),
        evidence: evidence::recorded(events.iter().map(|(_, event)| event)),
    };
    let run = Ongoing::new(session, this, errand, tenure)?;
    let end = super::end::recorded_end(&id, &events);
    let dispatcher = Dispatcher::new(run, machine, new, end).behind(&events);
    Ok((dispatcher, spent))
}

/// The run that the nested run repeats: what was nested there in the run that the outer one
/// repeats. Found anew whenever it is asked for, so a resume finds the same.
fn past(task: &Task, params: &Object) -> Result<Option<Past>, EngineError> {
    let Some(past) = &task.run.past else {
        return Ok(None);
    };
    let reader = task.run.session.store.log_reader()?;
    let key = task.item.as_ref().map(|item| item.key.as_str());
    let step = &task.attempt.place.step;
    Ok(past.nested(&reader, step, key, Some(params))?)
}

fn ended(task: &Task, finished: Finished, timed_out: bool) -> Ended {
    let exit = match finished.outcome {
        _ if timed_out => Exit::TimedOut,
        Outcome::Succeeded => Exit::Done,
        Outcome::Cancelled => Exit::Cancelled,
        Outcome::Failed | Outcome::Abandoned => Exit::Unable {
            why: format!(
                "nested run {} failed: {}",
                finished.run.short(),
                finished.why
            ),
            class: Class::Logical,
        },
    };
    let standing = Some(finished.standing);
    Ended {
        outputs: finished.outputs,
        standing,
        ..task.ended(exit)
    }
}
