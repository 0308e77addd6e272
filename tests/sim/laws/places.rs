//! Laws of places: attempts, ends, order, belief.

use wf_core::machine::{Attempt, Event, EventKind, MergeOutcome, Standing, StepState, TaskId};
use wf_model::{AgentWorkspace, FailureClass, StepWork};

use super::{
    super::{
        judges::standing_of,
        ledger::step_of,
        look::{Look, Seen},
        plans::asks_status,
    },
    ensure,
};

/// The place that an event lets begin, or go on.
fn begins(event: &Event) -> Option<&TaskId> {
    match &event.fact {
        EventKind::LockRequested { task_id, .. } | EventKind::CacheHit { task_id, .. } => Some(task_id),
        EventKind::AttemptStarted(attempt)
        | EventKind::AttemptEnded { attempt, .. }
        | EventKind::RetryScheduled { attempt, .. } => Some(&attempt.task_id),
        _ => None,
    }
}

pub fn settled(look: &Look<'_>) -> Result<(), String> {
    let (place, known) = match look.seen {
        Seen::Event(event) => (begins(event), look.decided()),
        Seen::Begins { task_id, .. } => (Some(task_id), look.durable()),
        _ => (None, look.durable()),
    };
    let over = place.filter(|place| known.is_over(place));
    ensure(over.is_none(), || format!("{over:?} had ended and begins again"))
}

pub fn one_writer(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(Event { fact: EventKind::AttemptStarted(attempt), .. }) = look.seen else {
        return Ok(());
    };
    let files =
        |task_id: &TaskId| step_of(look.plan(), task_id).writes.iter().map(|path| path.source().to_owned());
    // What is done in a worktree is merged, one after another.
    let is_apart = |task_id: &TaskId| {
        let work = &step_of(look.plan(), task_id).work;
        matches!(work, StepWork::Agent(agent) if agent.workspace == AgentWorkspace::Worktree)
    };
    let covers = |folder: &str, path: &str| path == folder || path.starts_with(&format!("{folder}/"));
    let shares = |task_id: &TaskId| {
        if is_apart(task_id) || is_apart(&attempt.task_id) {
            return false;
        }
        let mut pairs =
            files(task_id).flat_map(|one| files(&attempt.task_id).map(move |other| (one.clone(), other)));
        pairs.any(|(one, other)| !one.contains('*') && (covers(&one, &other) || covers(&other, &one)))
    };
    let known = look.decided();
    let mut live =
        known.places.iter().filter(|(place, book)| **place != attempt.task_id && book.live.is_some());
    let other = live.find(|(place, _)| shares(place)).map(|(place, _)| place);
    ensure(other.is_none(), || format!("{attempt} begins while {other:?} writes the same file"))
}

pub fn one_end(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    ensure(known.over.is_none(), || format!("{event:?} follows the end of the run"))?;
    let ended = |task_id: &TaskId| known.end(task_id).is_some();
    match &event.fact {
        EventKind::StepEnded { task_id, state, .. } => {
            ensure(!known.is_over(task_id), || format!("{task_id} ends twice"))?;
            ensure(state.is_final(), || format!("{task_id} ends as {state:?}"))?;
            let items = known.items.get(&task_id.step).copied().unwrap_or(0);
            let step = task_id.item.is_none();
            let left = (0..items)
                .find(|item| step && !ended(&TaskId { step: task_id.step.clone(), item: Some(*item) }));
            ensure(left.is_none(), || format!("{task_id} ends before its item {left:?}"))
        }
        EventKind::RunEnded { .. } => {
            let steps = look.plan().steps();
            let left = steps.iter().find(|step| !ended(&TaskId::of_step(&step.id)));
            let live = known.places.iter().find(|(_, book)| book.live.is_some());
            ensure(left.is_none() && live.is_none(), || {
                format!("the run ends before {:?}, {live:?}", left.map(|step| &step.id))
            })
        }
        _ => Ok(()),
    }
}

pub fn attempts(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let number = |wanted: u32, Attempt { task_id, attempt }: &Attempt| {
        ensure(*attempt == wanted, || format!("{task_id}#{attempt} comes, #{wanted} is next"))
    };
    match &event.fact {
        EventKind::AttemptStarted(attempt) => {
            let book = look.decided().book(&attempt.task_id);
            number(book.attempts + 1, attempt)?;
            let live = book.live.filter(|live| *live > 0);
            ensure(live.is_none(), || format!("{attempt} begins beside #{live:?}"))?;
            let step = step_of(look.plan(), &attempt.task_id);
            let repeats = if step.idempotent { book.interrupted } else { 0 };
            let loops = book.loops.0 + book.loops.1;
            let most = book.base + 1 + step.retry.max + repeats + book.sent_back + loops;
            let most = most + book.guided.1 + book.helped.0;
            let granted = attempt.attempt == book.base + 1 || book.due.is_some();
            ensure(attempt.attempt <= most && granted, || format!("{attempt} was not granted"))
        }
        EventKind::AttemptEnded { attempt, .. } => {
            let book = look.decided().book(&attempt.task_id);
            number(book.live.unwrap_or(0), attempt)
        }
        EventKind::RetryScheduled { attempt, .. } => {
            let book = look.decided().book(&attempt.task_id);
            number(book.attempts + 1, attempt)
        }
        _ => Ok(()),
    }
}

pub fn backoff(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    match &event.fact {
        EventKind::AttemptStarted(attempt) => {
            let due = look.decided().book(&attempt.task_id).due;
            let early = due.is_some_and(|(_, due)| event.at < due);
            ensure(!early, || format!("{attempt} begins at {}, due {due:?}", event.at))
        }
        EventKind::RetryScheduled { attempt, due, looped: Some(_), .. } => {
            ensure(*due == event.at, || format!("{attempt} is sent back, and due only {due}"))
        }
        EventKind::RetryScheduled { attempt, due, reason, .. } => {
            let step = step_of(look.plan(), &attempt.task_id);
            let book = look.decided().book(&attempt.task_id);
            // People have let it wait long enough.
            if book.helped.1 == Some(attempt.attempt - 1) {
                return ensure(*due == event.at, || format!("{attempt} is guided, and due only {due}"));
            }
            let before = book.base + book.loops.0 + book.loops.1;
            let delay = step.retry.delay(attempt.attempt - 1 - before, 0);
            let interrupted = reason.starts_with("interrupted") && step.idempotent;
            let sent_back = reason.starts_with("blocked by gate") || reason.starts_with("gate");
            let plain = step.retry.jitter == 0.0 && !interrupted && !sent_back;
            let kept = !plain || *due == event.at.after(delay);
            let granted = interrupted
                || sent_back
                || step.retry.on.iter().any(|failure_class| *failure_class != FailureClass::Interrupted)
                || reason.starts_with("interrupted");
            ensure(kept && granted && *due >= event.at, || {
                format!("{attempt} is due {due}, {delay:?} after {}", event.at)
            })
        }
        _ => Ok(()),
    }
}

pub fn order(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let step = match &event.fact {
        EventKind::StepExpanded { step, .. } => step,
        _ => match begins(event) {
            Some(place) => &place.step,
            None => return Ok(()),
        },
    };
    let step = step_of(look.plan(), &TaskId::of_step(step));
    for needed in &step.depends_on {
        let needed = &look.plan().step(*needed).id;
        let end = look.decided().end(&TaskId::of_step(needed));
        let well = end.is_some_and(|end| end.state == StepState::Succeeded || end.allowed_to_fail);
        ensure(well || end.is_some() && asks_status(step), || {
            format!("`{}` begins, and `{needed}` is {end:?}", step.id)
        })?;
    }
    Ok(())
}

pub fn standing(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::StepEnded { task_id, state, standing, .. } = &event.fact else {
        return Ok(());
    };
    let known = look.decided();
    let book = known.book(task_id);
    if task_id.item.is_none() && known.items.contains_key(&task_id.step) || book.kept {
        return Ok(());
    }
    let step = step_of(look.plan(), task_id);
    let (passed, refuted) = book.verdicts;
    let uses = matches!(step.work, wf_model::StepWork::Uses(_));
    let nested = uses && step.verify.is_empty();
    let checked = passed == step.verify.len() && refuted == 0 && passed > 0;
    let cut_short = known.ending() || known.stopping;
    let merge = known.merges.of.get(task_id).and_then(|(attempt, ended)| Some((*attempt, ended.as_ref()?)));
    // Its checks saw other files.
    let is_other = merge.is_some_and(|(attempt, ended)| {
        let attempt = Attempt { task_id: task_id.clone(), attempt };
        *ended == MergeOutcome::ByHand
            || *ended == MergeOutcome::Merged && known.merges.unseen.contains(&attempt)
    });
    let right = match (state, standing) {
        (StepState::Succeeded, Standing::Verified) => {
            nested || checked && standing_of(&step.verify) == Standing::Verified
        }
        (StepState::Succeeded, Standing::Plausible) => {
            nested || checked && (uses || standing_of(&step.verify) == *standing)
        }
        (StepState::Succeeded, Standing::Reported) => {
            step.verify.is_empty() || cut_short || book.is_ignored() || is_other
        }
        // An agent that is stuck may end in a later round without another attempt.
        (StepState::Failed, Standing::Refuted) => refuted > 0 || passed == 0 && book.refuted,
        (StepState::Failed, Standing::Unchecked) => passed + refuted == 0,
        (StepState::Failed | StepState::Cancelled, Standing::Reported)
        | (StepState::Skipped | StepState::Cancelled, Standing::Unchecked) => true,
        _ => false,
    };
    ensure(right, || format!("{task_id} is {state:?} and {standing:?} after {:?}", book.verdicts))
}

pub fn skipped(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::StepEnded { task_id, state: StepState::Skipped, .. } = &event.fact else {
        return Ok(());
    };
    let book = look.decided().book(task_id);
    ensure(book.attempts == book.base, || format!("{task_id} is skipped after {} attempts", book.attempts))
}

pub fn lock_told(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::LockRequested { task_id, .. } = &event.fact else {
        return Ok(());
    };
    ensure(!look.decided().book(task_id).awaits, || format!("{task_id} says again that it waits"))
}

pub fn kept(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let (place, fine) = match &event.fact {
        EventKind::AttemptStarted(Attempt { task_id, .. }) | EventKind::CacheHit { task_id, .. } => {
            (task_id, false)
        }
        EventKind::StepEnded { task_id, state, .. } => (task_id, *state == StepState::Succeeded),
        _ => return Ok(()),
    };
    let step = look.decided().book(&TaskId::of_step(&place.step)).kept;
    let kept = step || look.decided().book(place).kept;
    ensure(!kept || fine, || format!("{place} was kept: {:?}", event.fact))
}
