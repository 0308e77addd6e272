//! Laws of the phases of checks, and of the loops back to the work.

use wf_base::name::Name;
use wf_core::machine::{EventKind, StepState};
use wf_model::{CheckPhase, OnReworkExhausted, Step};

use super::{
    super::{
        ledger::{Book, step_of},
        look::{Look, Seen},
    },
    ensure,
};

pub fn phases(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    match &event.fact {
        EventKind::CheckCompleted { attempt: Some(attempt), verdict } => {
            let book = known.book(&attempt.task_id);
            let step = step_of(look.plan(), &attempt.task_id);
            let early = unsettled(step, &book, verdict.phase);
            ensure(early.is_none(), || format!("`{}` of {attempt} is asked before {early:?}", verdict.name))
        }
        EventKind::RetryScheduled { attempt, looped: Some(looped), .. } => {
            let book = known.book(&attempt.task_id);
            let step = step_of(look.plan(), &attempt.task_id);
            let used = match looped.phase {
                CheckPhase::Inspect => book.loops.0,
                CheckPhase::Test => book.loops.1,
                CheckPhase::Verify => u32::MAX,
            };
            let granted = used < step.loops.max && looped.number == used + 1;
            let found = book.history.last().is_some_and(|last| {
                let failed = last.verdicts.iter().filter(|(_, passed)| !passed);
                failed.clone().any(|(name, _)| phase_of(step, name) == Some(looped.phase))
            });
            ensure(granted && found && looped.limit == step.loops.max, || {
                format!("{attempt} is sent back by {looped} after {used}")
            })
        }
        EventKind::ApprovalRequested(ask) => {
            let step = ask.task_id.as_ref().map(|place| step_of(look.plan(), place));
            let may = step.is_some_and(|step| step.loops.on_exhausted == OnReworkExhausted::Ask);
            ensure(ask.phase.is_none() || may, || {
                format!("question {} is about a phase that fails", ask.request)
            })
        }
        EventKind::StepEnded { task_id, state: StepState::Succeeded, standing, .. }
            if standing.is_checked() =>
        {
            ensure(!known.book(task_id).is_ignored(), || {
                format!("{task_id} is verified, and something was ignored")
            })
        }
        _ => Ok(()),
    }
}

fn phase_of(step: &Step, name: &Name) -> Option<CheckPhase> {
    let check = step.verify.iter().find(|check| check.name == *name);
    check.map(|check| check.phase)
}

/// A criterion of an earlier phase that neither holds nor was ignored.
fn unsettled(step: &Step, book: &Book, phase: CheckPhase) -> Option<Name> {
    let last = book.history.last();
    let held = |name: &Name| {
        last.is_some_and(|last| {
            let passed = last.verdicts.contains(&(name.clone(), true));
            passed || last.ignored.contains(name)
        })
    };
    let mut before = step.verify.iter().filter(|check| check.phase < phase);
    before.find(|check| !held(&check.name)).map(|check| check.name.clone())
}
