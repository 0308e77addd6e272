//! Laws of gates and decisions.

use wf_core::machine::{EventKind, GatePoint, RequestDecision, RunPhase, StepState, TaskId, gates_at};
use wf_model::StepWork;

use super::{
    super::{
        ledger::step_of,
        look::{Look, Seen},
    },
    ensure,
};

/// Whether a place has gates at a point.
fn has(look: &Look<'_>, task_id: &TaskId, point: GatePoint) -> bool {
    let step = look.plan().find(task_id.step.as_str());
    gates_at(look.plan(), step, point).next().is_some()
}

pub fn gated(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    let passed = |task_id: &TaskId, point| {
        !has(look, task_id, point) || known.passed.contains(&(Some(task_id.clone()), point))
    };
    match &event.fact {
        EventKind::AttemptStarted(attempt) => {
            let place = &attempt.task_id;
            let book = known.book(place);
            let further = book.attempts > book.base;
            let may = passed(place, GatePoint::Enter) && (!further || passed(place, GatePoint::Again));
            ensure(may && known.phase != RunPhase::Gates, || {
                format!("{attempt} begins, and its gates have not let it")
            })
        }
        EventKind::CheckCompleted { attempt: Some(attempt), .. } => {
            ensure(passed(&attempt.task_id, GatePoint::Leave), || {
                format!("{attempt} is judged before its gates are asked")
            })
        }
        EventKind::StepEnded { task_id, state: StepState::Succeeded, .. }
            if known.book(task_id).attempts > 0 && !known.book(task_id).kept =>
        {
            ensure(passed(task_id, GatePoint::Leave) || known.ending(), || {
                format!("{task_id} succeeds, and its gates have not let it")
            })
        }
        EventKind::RunEnded { outcome, .. } => {
            let open = known.asks.len();
            ensure(open == 0, || format!("{open} questions are left open"))?;
            let good = *outcome == wf_core::machine::RunOutcome::Succeeded;
            let all = [GatePoint::Start, GatePoint::Publish];
            let mut missed = all.into_iter().filter(|point| {
                let asked = gates_at(look.plan(), None, *point).next().is_some();
                asked && !known.passed.contains(&(None, *point))
            });
            ensure(!good || missed.next().is_none(), || {
                "the run succeeds, and its gates have not let it".into()
            })
        }
        _ => Ok(()),
    }
}

pub fn spawned(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let (place, begins) = match &event.fact {
        EventKind::AttemptStarted(attempt) => (&attempt.task_id, true),
        EventKind::StepEnded { task_id, state: StepState::Skipped, .. } => (task_id, false),
        _ => return Ok(()),
    };
    if !step_of(look.plan(), place).on_escalation {
        return Ok(());
    }
    let known = look.decided();
    let is_asked = known.book(place).spawned;
    ensure(is_asked || !begins, || format!("{place} begins, and no gate escalated to it"))?;
    let dropped = known.phase == RunPhase::Finally && !known.left && is_asked && !begins;
    ensure(!dropped, || format!("{place} is skipped, and a gate escalated to it"))
}

pub fn decided(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    match &event.fact {
        EventKind::ApprovalRequested(ask) => {
            let next = known.asks.last_key_value().is_none_or(|(last, _)| *last < ask.request);
            ensure(next, || format!("question {} is asked twice", ask.request))
        }
        EventKind::ApprovalResolved { request: number, given, .. } => {
            let open = known.asks.get(number);
            ensure(open.is_some(), || format!("nobody asked question {number}"))?;
            let late = given.decision == RequestDecision::Expired;
            let due = open.is_none_or(|ask| ask.expires <= event.at);
            ensure(!late || due, || format!("question {number} expires early"))
        }
        EventKind::StepEnded { task_id, state: StepState::Succeeded, .. }
            if matches!(step_of(look.plan(), task_id).work, StepWork::Approve(_)) =>
        {
            let whole = task_id.item.is_none() && known.items.contains_key(&task_id.step);
            let may = whole || known.book(task_id).kept || known.agreed.contains_key(task_id);
            ensure(may, || format!("{task_id} succeeds, and nobody agreed"))
        }
        _ => Ok(()),
    }
}
