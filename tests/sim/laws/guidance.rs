use wf_core::machine::{ATTEMPTS_BEFORE_GUIDANCE, EventKind, GuidanceOutcome, TaskId};
use wf_model::{OnStuck, StepWork};

use super::{
    super::{
        ledger::{is_finally, step_of},
        look::{Look, Seen},
    },
    ensure,
};

pub fn guided(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    // What is to end asks nobody any more; `finally` steps go on.
    let goes_on = |task_id: &TaskId| !known.ending() || is_finally(look.plan(), task_id);
    match &event.fact {
        EventKind::GuidanceRequested(start) => {
            let (step, book) =
                (step_of(look.plan(), &start.attempt.task_id), known.book(&start.attempt.task_id));
            let made = start.attempt.attempt;
            let stuck = made == book.attempts && made >= book.base + ATTEMPTS_BEFORE_GUIDANCE;
            let consults = step.on_stuck.guides(look.plan().parts().planner.as_ref());
            let asks = consults && matches!(step.work, StepWork::Agent(_));
            let first = book.guided.0 == 0 && book.ended.is_none();
            ensure(stuck && asks && first && goes_on(&start.attempt.task_id), || {
                format!("{event:?} after {book:?}")
            })
        }
        EventKind::GuidanceEnded(end) => {
            let book = known.book(&end.attempt.task_id);
            let asked = book.consults == Some(end.attempt.attempt);
            let clean = match &end.outcome {
                GuidanceOutcome::Given { guidance } => goes_on(&end.attempt.task_id) && !guidance.is_empty(),
                GuidanceOutcome::Refused { reason } => !reason.is_empty(),
            };
            ensure(asked && clean, || format!("{event:?} after {book:?}"))
        }
        EventKind::AttemptStarted(attempt) | EventKind::RetryScheduled { attempt, .. } => {
            let book = known.book(&attempt.task_id);
            ensure(book.consults.is_none(), || format!("{event:?} while a planner is asked"))?;
            ensure(book.stuck.is_none(), || format!("{event:?} while people are asked"))
        }
        EventKind::StepEnded { task_id, .. } => {
            let book = known.book(task_id);
            ensure(book.consults.is_none(), || format!("{event:?} while a planner is asked"))?;
            ensure(book.stuck.is_none(), || format!("{event:?} while people are asked"))
        }
        EventKind::ApprovalRequested(ask) => match (&ask.stuck, &ask.task_id) {
            (Some(stuck), Some(place)) => {
                let (step, book) = (step_of(look.plan(), place), known.book(place));
                let agent = matches!(step.work, StepWork::Agent(_)) && step.on_stuck == OnStuck::Escalate;
                let failed =
                    stuck.attempt == book.attempts && book.ended.is_none() && book.consults.is_none();
                ensure(agent && failed && goes_on(place), || format!("{event:?} after {book:?}"))
            }
            (Some(_), None) => Err("nobody is stuck".into()),
            (None, _) => Ok(()),
        },
        _ => Ok(()),
    }
}
