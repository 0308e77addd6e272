//! Laws of plans that a run makes: one outside its envelope never begins, and each other one begins once.

use wf_core::machine::{Effect, EventKind, WorkExit};
use wf_model::StepWork;

use super::{
    super::{
        engine::Job,
        ledger::step_of,
        look::{Look, Seen},
    },
    ensure,
};

pub fn generated(look: &Look<'_>) -> Result<(), String> {
    match look.seen {
        Seen::Act(effect) => asked(look, effect),
        Seen::Event(event) => recorded(look, &event.fact),
        _ => Ok(()),
    }
}

/// Whether the log says that exactly this plan begins, and nothing else works on it.
fn asked(look: &Look<'_>, effect: &Effect) -> Result<(), String> {
    let Effect::Watch { attempt, generated, .. } = effect else {
        return Ok(());
    };
    if !matches!(step_of(look.plan(), &attempt.task_id).work, StepWork::Generated(_)) {
        return ensure(generated.is_none(), || format!("{attempt} has no plan of the run"));
    }
    let known = look.durable().generated.for_attempt(attempt);
    let digest = known.filter(|made| made.problems.is_empty()).map(|made| made.text_digest);
    let works = look.engine().is_some_and(|engine| {
        let mut jobs = engine.units.iter().map(|unit| &unit.job);
        jobs.any(|job| matches!(job, Job::Work { attempt: other, .. } if other == attempt))
    });
    ensure(*generated == digest && !works, || format!("{effect:?}, and the log says {known:?}"))
}

/// Whether a plan is read once in an attempt that is under way, and one with problems fails it.
fn recorded(look: &Look<'_>, fact: &EventKind) -> Result<(), String> {
    let known = look.decided();
    match fact {
        EventKind::PlanGenerated(made) => {
            let is_first = known.generated.for_attempt(&made.attempt).is_none();
            let is_live = known.book(&made.attempt.task_id).live == Some(made.attempt.attempt);
            ensure(is_first && is_live, || format!("{made:?} is not next"))
        }
        EventKind::AttemptEnded { attempt, how, .. } => {
            let made = known.generated.for_attempt(attempt);
            let is_refused = made.is_some_and(|made| !made.problems.is_empty());
            let fails = matches!(how, WorkExit::Error { .. });
            ensure(!is_refused || fails, || format!("{attempt} ends as {how:?}, and its plan was refused"))
        }
        _ => Ok(()),
    }
}
