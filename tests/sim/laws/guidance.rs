use wf_core::machine::{ATTEMPTS_BEFORE_GUIDANCE, EventKind, GuidanceOutcome, TaskId};
use wf_model::{OnStuck, StepWork};

use super::super::ledger::{is_finally, step_of};
use super::super::look::{Look, Seen};
use super::ensure;

pub fn guided(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let known = look.decided();
    // What is to end asks nobody any more; `finally` steps go on.
    let goes_on = |place: &TaskId| !known.ending() || is_finally(look.plan(), place);
    match &event.fact {
        EventKind::GuidanceRequested(start) => {
            let (step, book) = (step_of(look.plan(), &start.attempt.place), known.book(&start.attempt.place));
            let made = start.attempt.attempt;
            let stuck = made == book.attempts && made >= book.base + ATTEMPTS_BEFORE_GUIDANCE;
            let consults = step.on_stuck.guides(look.plan().parts().planner.as_ref());
            let asks = consults && matches!(step.work, StepWork::Agent(_));
            let first = book.guided.0 == 0 && book.ended.is_none();
            ensure(stuck && asks && first && goes_on(&start.attempt.place), || {
                format!("{event:?} after {book:?}")
            })
        }
        EventKind::GuidanceEnded(end) => {
            let book = known.book(&end.attempt.place);
            let asked = book.consults == Some(end.attempt.attempt);
            let clean = match &end.outcome {
                GuidanceOutcome::Given { guidance } => goes_on(&end.attempt.place) && !guidance.is_empty(),
                GuidanceOutcome::Refused { reason } => !reason.is_empty(),
            };
            ensure(asked && clean, || format!("{event:?} after {book:?}"))
        }
        EventKind::AttemptStarted(attempt) | EventKind::RetryScheduled { attempt, .. } => {
            let book = known.book(&attempt.place);
            ensure(book.consults.is_none(), || format!("{event:?} while a planner is asked"))?;
            ensure(book.stuck.is_none(), || format!("{event:?} while people are asked"))
        }
        EventKind::StepEnded { place, .. } => {
            let book = known.book(place);
            ensure(book.consults.is_none(), || format!("{event:?} while a planner is asked"))?;
            ensure(book.stuck.is_none(), || format!("{event:?} while people are asked"))
        }
        EventKind::ApprovalRequested(ask) => match (&ask.stuck, &ask.place) {
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
