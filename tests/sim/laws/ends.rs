//! Laws of ends: cancellation, failure, `finally`, outcomes.

use std::collections::BTreeMap;

use wf_core::{
    ggs::Directive,
    machine::{
        Attempt, ClientTurn, Effect, EventKind, ModelCall, RunOutcome, RunPhase, Standing, StepCounts,
        StepState, TaskId, ToolOrder,
    },
};
use wf_model::OnStepFailure;

use super::{
    super::{
        engine::Job,
        judges::standing_of,
        ledger::{End, Ledger, is_finally, step_of},
        look::{Look, Seen},
        plans::asks_status,
        world::Run,
    },
    ensure,
};

/// The place that an event lets begin, for the first time or again.
fn begins(fact: &EventKind) -> Option<&TaskId> {
    match fact {
        EventKind::LockRequested { task_id, .. } | EventKind::CacheHit { task_id, .. } => Some(task_id),
        EventKind::AttemptStarted(attempt) => Some(&attempt.task_id),
        _ => None,
    }
}

pub fn ending(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let Some(place) = begins(&event.fact) else {
        return Ok(());
    };
    let known = look.decided();
    let may = if is_finally(look.plan(), place) { known.cancelled != Some(true) } else { !known.ending() };
    ensure(may, || format!("{place} begins at the end: {:?}", event.fact))
}

pub fn stopping(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    if let EventKind::StepEnded { task_id, state: StepState::Cancelled, .. } = &event.fact {
        let cancels = look.plan().parts().policy.on_failure == OnStepFailure::Cancel;
        let may = look.decided().ending() || look.decided().budget.spent;
        let may = may || cancels && look.decided().stopping;
        return ensure(may, || format!("{task_id} is cancelled, and nobody asked"));
    }
    if let EventKind::RunDraining { .. } = &event.fact {
        let rounds = look.plan().parts().replan.is_some();
        return ensure(!rounds, || "a run that has rounds is stopped".into());
    }
    let Some(place) = begins(&event.fact) else {
        return Ok(());
    };
    let known = look.decided();
    let step = step_of(look.plan(), place);
    // One whose cached result a gate sent back was under way, too.
    let book = known.book(place);
    let goes_on = (book.attempts > book.base || book.due.is_some())
        && look.plan().parts().policy.on_failure == OnStepFailure::Stop;
    let may = !known.stopping || asks_status(step) || is_finally(look.plan(), place) || goes_on;
    ensure(may, || format!("{place} begins after a failure: {:?}", event.fact))
}

pub fn told(look: &Look<'_>) -> Result<(), String> {
    let (Seen::Turn(turn), Some(engine)) = (look.seen, look.engine()) else {
        return Ok(());
    };
    let waiting = engine.turns.iter().flat_map(|turn| &turn.effects);
    let waiting = || waiting.clone().chain(&turn.effects);
    let killed = |whom: Option<&Attempt>| {
        waiting().any(|effect| matches!(effect, Effect::Kill { attempt, .. } if attempt.as_ref() == whom))
    };
    let works = engine.units.iter().filter(|unit| !unit.told);
    let works = works.filter_map(|unit| match &unit.job {
        Job::Work { attempt, .. }
        | Job::Brief { attempt }
        | Job::Generate { attempt }
        | Job::Model { attempt, .. }
        | Job::Serve { attempt, .. } => Some(Some(attempt)),
        Job::Tool { id } => Some(Some(&id.attempt)),
        Job::Child { id } => Some(Some(&id.attempt)),
        Job::Check { attempt, .. } => Some(attempt.as_ref()),
        _ => None,
    });
    let asked = waiting().filter_map(|effect| match effect {
        Effect::Start { attempt, .. }
        | Effect::Watch { attempt, .. }
        | Effect::CallModel(ModelCall { attempt, .. })
        | Effect::ServeClient(ClientTurn { attempt, .. }) => Some(Some(attempt)),
        Effect::CallTool(ToolOrder { id, .. }) => Some(Some(&id.attempt)),
        Effect::StartChild { id, .. } => Some(Some(&id.attempt)),
        Effect::Check { attempt, .. } => Some(attempt.as_ref()),
        _ => None,
    });
    let left = works
        .chain(asked)
        .find(|attempt| shall_end(look, attempt.map(|attempt| &attempt.task_id)) && !killed(*attempt));
    ensure(left.is_none(), || format!("{left:?} is not cancelled"))
}

/// Whether what is done for a place, or for the whole plan, shall not go on.
fn shall_end(look: &Look<'_>, task_id: Option<&TaskId>) -> bool {
    let known = look.decided();
    match task_id {
        None => known.ending(),
        Some(place) if known.is_over(place) => false,
        Some(place) if is_finally(look.plan(), place) => known.cancelled == Some(true),
        Some(place) => {
            let cancels = look.plan().parts().policy.on_failure == OnStepFailure::Cancel;
            let asks = asks_status(step_of(look.plan(), place));
            known.ending() || known.stopping && cancels && !asks
        }
    }
}

pub fn finally(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let (plan, known) = (look.plan(), look.decided());
    let ended = |at: usize| known.end(&TaskId::of_step(&plan.steps()[at].id)).is_some();
    let main = plan.parts().main;
    let at = |task_id: &TaskId| plan.find(task_id.step.as_str()).map_or(0, wf_model::StepIx::index);
    match &event.fact {
        // The gates of a run come first.
        EventKind::PhaseStarted { phase: RunPhase::Gates } => {
            ensure(known.places.values().all(|book| book.attempts == 0), || "gates come late".into())
        }
        EventKind::PhaseStarted { phase: RunPhase::Steps } => {
            ensure(known.phase == RunPhase::Gates, || "steps begin twice".into())
        }
        EventKind::PhaseStarted { phase } => {
            let left = (0..main).find(|at| !ended(*at));
            ensure(left.is_none() && *phase > known.phase, || {
                format!("{phase:?} begins in {:?}, step {left:?} is not over", known.phase)
            })
        }
        EventKind::StepEnded { task_id, state, .. } if is_finally(plan, task_id) => {
            let insisted = known.cancelled == Some(true) || known.phase == RunPhase::Gates;
            ensure(*state != StepState::Cancelled || insisted, || format!("{task_id} is cancelled"))
        }
        fact => {
            let Some(place) = begins(fact).filter(|place| is_finally(plan, place)) else {
                return Ok(());
            };
            let before = (main..at(place)).all(ended);
            ensure(known.phase == RunPhase::Finally && before, || format!("{place} begins too early"))
        }
    }
}

/// How the steps ended, and how they are counted.
fn count(look: &Look<'_>) -> StepCounts {
    let mut counts = StepCounts::default();
    for step in look.plan().steps() {
        let Some(end) = look.decided().end(&TaskId::of_step(&step.id)) else {
            continue;
        };
        *match (end.state, end.standing) {
            (StepState::Succeeded, Standing::Verified) => &mut counts.verified,
            (StepState::Succeeded, Standing::Plausible) => &mut counts.plausible,
            (StepState::Succeeded, _) => &mut counts.reported,
            (StepState::Failed, _) if end.allowed_to_fail => &mut counts.allowed_to_fail,
            (StepState::Failed, _) => &mut counts.failed,
            (StepState::Skipped, _) => &mut counts.skipped,
            _ => &mut counts.cancelled,
        } += 1;
    }
    counts
}

/// Whether a check found otherwise than a step that has ended.
fn has_refuted(look: &Look<'_>) -> bool {
    let steps = look.plan().steps().iter();
    let ends = steps.filter_map(|step| look.decided().end(&TaskId::of_step(&step.id)));
    ends.into_iter().any(|end| end.standing == Standing::Refuted)
}

pub fn counts(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::RunEnded { counts, .. } = &event.fact else {
        return Ok(());
    };
    let counted = count(look);
    ensure(*counts == counted, || format!("it is {counts:?}, and the steps are {counted:?}"))
}

pub fn outcome(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let EventKind::RunEnded { outcome, failed_step: failed, standing, reason, outputs, accepted, .. } =
        &event.fact
    else {
        return Ok(());
    };
    let known = look.decided();
    ensure(*failed == known.failed, || format!("{failed:?} is named, {:?} failed", known.failed))?;
    let last = known.rounds.last().map(|round| round.solved.directive);
    let near = last == Some(Directive::Success);
    let lost = known.rounds.last().is_some_and(|round| !round.goes_on()) && !near;
    let lost = lost && last != Some(Directive::Accept) && !known.timed_out;
    let bad = known.failed.is_some() || known.judged == Some(false) && !near;
    let bad = bad || known.timed_out || known.blocked || known.budget.spent;
    let right = match outcome {
        RunOutcome::Cancelled => known.cancelled.is_some(),
        _ if known.cancelled.is_some() => false,
        RunOutcome::Succeeded => !bad && !lost && known.phase >= RunPhase::Steps,
        RunOutcome::Abandoned => lost,
        // Else an output of the plan has no value.
        RunOutcome::Failed => !lost && (bad || reason.starts_with("output")),
    };
    let good = *outcome == RunOutcome::Succeeded;
    let right = right && accepted.is_some() == (good && near);
    let believed = match standing {
        Standing::Verified | Standing::Plausible | Standing::Reported => {
            good && *standing == standing_of_success(look, near || !reason.is_empty())
        }
        Standing::Refuted => !good && known.judged == Some(false),
        Standing::Unchecked => !good && known.judged != Some(false),
    };
    // What a worker kept from being checked.
    let unchecked = good && reason.contains("was not checked");
    let told = (good == reason.is_empty() || unchecked) && (good || outputs.is_empty());
    ensure(right && believed && told, || format!("{:?} after {known:?}", event.fact))
}

/// What a run that succeeded is worth; `partial`: some criterion was left out, or does not hold.
fn standing_of_success(look: &Look<'_>, partial: bool) -> Standing {
    let (known, counts) = (look.decided(), count(look));
    if partial || !known.stale.is_empty() || has_refuted(look) {
        return Standing::Reported;
    }
    match known.judged {
        Some(true) if counts.plausible > 0 => Standing::Plausible,
        Some(true) => standing_of(&look.plan().parts().verify),
        _ if known.left || counts.reported > 0 => Standing::Reported,
        _ if counts.plausible > 0 => Standing::Plausible,
        _ if counts.verified > 0 => Standing::Verified,
        _ => Standing::Reported,
    }
}

/// Whether two runs of one plan ended alike.
pub fn same_end(one: &Run, other: &Run) -> Result<(), String> {
    let ends = |ledger: &Ledger| -> BTreeMap<TaskId, End> {
        let ended = |(place, book): (&TaskId, &super::super::ledger::Book)| {
            Some((place.clone(), book.ended.clone()?))
        };
        ledger.places.iter().filter_map(ended).collect()
    };
    let (left, right) = (ends(&one.durable), ends(&other.durable));
    for (place, end) in &right {
        let found = left.get(place);
        ensure(found == Some(end), || format!("{place} is {found:?}, and in calm {end:?}"))?;
    }
    ensure(left.len() == right.len(), || "there are more places than in calm".into())?;
    let told = |run: &Run| match run.durable.over.clone() {
        Some(EventKind::RunEnded { outcome, standing, counts, outputs, .. }) => {
            Some((outcome, standing, counts, outputs))
        }
        _ => None,
    };
    let (left, right) = (told(one), told(other));
    ensure(left == right, || format!("the run is {left:?}, and in calm {right:?}"))
}
