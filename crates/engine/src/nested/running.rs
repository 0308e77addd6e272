//! The work on a nested run: a loop of its own, which ends with the attempt it is.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_core::machine::{AttemptEnd, RunOutcome};
use wf_exec::StopLevel;
use wf_model::Step;

use super::plan_run::{
    NestedBeginning, NestedPlace, NestedWork, OpenNestedRun, attempt_end, nested_past_run, open,
};
use crate::{
    dispatch::dispatcher::RunDispatcher,
    files::{copies, kept},
    run::AttemptTask,
    session::{EngineError, FinishedRun, end::recorded_end},
};

/// Runs the plan of a step. The same attempt always has the same nested run, so an interrupted one is resumed.
pub(crate) fn run_nested<'a>(
    task: &'a AttemptTask,
    step: &'a Step,
    stop: watch::Receiver<StopLevel>,
) -> Pin<Box<dyn Future<Output = Result<AttemptEnd, EngineError>> + Send + 'a>> {
    Box::pin(async move {
        let work = NestedWork::new(&task.run, step, task.generated);
        let work = work.and_then(|work| Ok((work.params(task)?, work)));
        let (params, work) = match work {
            Ok(work) => work,
            Err(unable) => return Ok(task.end_without_outputs(unable.into())),
        };
        let NestedWork { plan, path, sources, .. } = work;
        let inside = NestedPlace::of_attempt(&task.run, &task.attempt);
        let events = match task.since {
            Some(_) => inside.recorded_events()?,
            None => Vec::new(),
        };
        let past = match nested_past_run(task, &params)? {
            Some(past) if !events.is_empty() => Some(past.as_recorded(events.iter().map(|(_, event)| event))),
            past => kept::without_changed(&task.run.session, past)?,
        };
        let begun = NestedBeginning { plan: &plan, path, params, sources, repeated_run: past, events };
        let (dispatcher, spent) = prepare(inside, begun)?;
        let nested = Arc::clone(&dispatcher.run);
        let left = step.timeout.map(|limit| limit.saturating_sub(spent));
        let (finished, timed_out) = run_limited(dispatcher, left, stop).await?;
        Ok(attempt_end(task, &nested, finished, timed_out))
    })
}

/// Works on a nested run; passes stop requests on, and ends it when its time is up. Returns its end, and true if a limit
/// ended it.
pub(super) async fn run_limited(
    dispatcher: RunDispatcher,
    left: Option<Duration>,
    mut stop: watch::Receiver<StopLevel>,
) -> Result<(FinishedRun, bool), EngineError> {
    let (inner, heard) = watch::channel(*stop.borrow());
    let mut work = std::pin::pin!(dispatcher.work(heard));
    let mut limit = std::pin::pin!(tokio::time::sleep(left.unwrap_or_default()));
    let mut timed_out = false;
    let mut listening = true;
    loop {
        tokio::select! {
            finished = &mut work => {
                let finished = finished?;
                // A run that was not told to end was ended by a limit: this one's, or that of an engine
                // that died before it could report it.
                let unasked = finished.outcome == RunOutcome::Cancelled && *stop.borrow() == StopLevel::No;
                return Ok((finished, timed_out || unasked));
            }
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

/// Returns the nested run, ready to be worked on, and the time it has been under way.
pub(crate) fn prepare(
    place: NestedPlace<'_>,
    beginning: NestedBeginning<'_>,
) -> Result<(RunDispatcher, Duration), EngineError> {
    let OpenNestedRun { run, machine, new, events } = open(place, beginning)?;
    let began = events.first().map(|(_, event)| event.at);
    let last = events.last().map(|(_, event)| event.at);
    let now = run.session.clock.now().max(last.unwrap_or_default());
    let spent = began.map_or(Duration::ZERO, |began| now.since(began));
    copies::release_recorded(&run, &events);
    let end = recorded_end(&run.run_ref.id, &events, &machine);
    let dispatcher = RunDispatcher::new(run, machine, new, end).after_replay(&events);
    Ok((dispatcher, spent))
}
