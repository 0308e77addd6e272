//! Laws of time: waits and limits.

use wf_core::machine::{Effect, EventKind, TimerKind, WorkExit};
use wf_model::{StepWork, WaitCondition};

use super::{
    super::{
        ledger::step_of,
        look::{Look, Seen},
    },
    ensure,
};

pub fn waits(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::AttemptEnded { attempt, how, .. } = &event.fact else {
        return Ok(());
    };
    let step = step_of(look.plan(), &attempt.task_id);
    let Some(since) = look.decided().book(&attempt.task_id).since else {
        return Ok(());
    };
    let over = match &step.work {
        StepWork::Wait(WaitCondition::For(wait)) => since.after(*wait),
        StepWork::Wait(WaitCondition::Until(at)) => (*at).max(since),
        _ => return Ok(()),
    };
    let limit = step.timeout.map(|limit| since.after(limit)).filter(|limit| *limit < over);
    let right = match how {
        WorkExit::Completed => limit.is_none() && event.at >= over,
        WorkExit::TimedOut => limit.is_some_and(|limit| event.at >= limit),
        other => *other == WorkExit::Cancelled,
    };
    ensure(right, || format!("{attempt} since {since} ends as {how:?} at {}", event.at))
}

pub fn limits(look: &Look<'_>) -> Result<(), String> {
    let known = look.durable();
    let (at, wanted) = match look.seen {
        Seen::Act(Effect::Wake { timer: TimerKind::Run, at }) => {
            let limit = look.plan().parts().timeout;
            (at, known.since.zip(limit).map(|(since, limit)| since.after(limit)))
        }
        Seen::Act(Effect::Wake { timer: TimerKind::Queue(place), at }) => {
            let limit = step_of(look.plan(), place).queue_timeout;
            let ready = known.queued(look.plan(), place);
            (at, ready.zip(limit).map(|(ready, limit)| ready.after(limit)))
        }
        Seen::Act(Effect::Watch { attempt, since, .. }) if !known.is_over(&attempt.task_id) => {
            (since, known.book(&attempt.task_id).since)
        }
        _ => return Ok(()),
    };
    ensure(wanted == Some(*at), || format!("a limit counts with {at}, and should with {wanted:?}"))
}
