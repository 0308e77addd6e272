//! Laws of proofs: evidence, and what the next attempt is told of one that failed.

use std::collections::BTreeSet;

use wf_core::machine::{Effect, EventKind, RunPhase, StepState, TaskId};

use super::{
    super::{
        ledger::{Book, End},
        look::{Look, Seen},
    },
    ensure,
};

/// Whether a place ended checked, and is still.
fn proved(book: &Book) -> bool {
    let good = |end: &End| end.state == StepState::Succeeded && end.standing.is_checked();
    book.ended.as_ref().is_some_and(good)
}

/// The places that are verified by evidence.
fn with_evidence<'a>(look: &Look<'a>) -> BTreeSet<&'a TaskId> {
    let places = look.decided().places.iter();
    let proved = places.filter(|(_, book)| proved(book) && book.evidence.is_some());
    proved.map(|(place, _)| place).collect()
}

pub fn fresh(look: &Look<'_>) -> Result<(), String> {
    let Seen::Event(event) = look.seen else {
        return Ok(());
    };
    let (known, run) = (look.decided(), look.run());
    match &event.fact {
        EventKind::EvidenceStale(stale) => {
            let book = known.book(&stale.task_id);
            let changed = book.evidence.is_some_and(|taken| taken != run.content(&stale.task_id));
            ensure(proved(&book) && changed, || format!("{stale:?} is told, and it was {book:?}"))
        }
        EventKind::RunEnded { standing, stale, .. } => {
            let told: BTreeSet<&TaskId> = stale.iter().map(|stale| &stale.task_id).collect();
            ensure(told == known.stale.iter().collect(), || {
                format!("{told:?} is said to be stale, and {:?} is", known.stale)
            })?;
            ensure(told.is_empty() || !standing.is_checked(), || {
                format!("the run is verified, and {told:?} is stale")
            })?;
            let whole = told.iter().find(|place| proved(&known.book(&TaskId::of_step(&place.step))));
            ensure(whole.is_none(), || format!("{whole:?} is stale, and its step is verified"))?;
            let Some(looked) = &run.looked else {
                return Ok(());
            };
            let mut proved = with_evidence(look).into_iter();
            let missed = proved.find(|place| {
                known.book(place).evidence != Some(super::super::evidence::content(looked, place))
            });
            ensure(missed.is_none(), || format!("{missed:?} was seen to be stale, and is verified"))
        }
        _ => Ok(()),
    }
}

pub fn confirm_before_end(look: &Look<'_>) -> Result<(), String> {
    let known = look.decided();
    match look.seen {
        Seen::Event(event) => match &event.fact {
            EventKind::PhaseStarted { phase: RunPhase::Confirm } => {
                let steps = look.plan().steps().iter();
                let left = steps.map(|step| TaskId::of_step(&step.id)).find(|place| !known.is_over(place));
                ensure(left.is_none() && known.cancelled != Some(true), || {
                    format!("evidence is looked at, and {left:?} is not over: {known:?}")
                })
            }
            EventKind::RunEnded { .. } => {
                let asked = known.phase == RunPhase::Confirm && look.run().looked.is_some();
                let left = with_evidence(look);
                ensure(asked || left.is_empty() || known.cancelled == Some(true), || {
                    format!("the run ends, and nobody looked at {left:?}")
                })
            }
            _ => Ok(()),
        },
        Seen::Turn(turn) => turn.effects.iter().try_for_each(|effect| match effect {
            Effect::Confirm { places } => {
                let wanted = with_evidence(look);
                let asked: BTreeSet<&TaskId> = places.iter().collect();
                ensure(asked == wanted && !asked.is_empty(), || {
                    format!("{asked:?} is looked at, and {wanted:?} is verified")
                })
            }
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

pub fn corrected(look: &Look<'_>) -> Result<(), String> {
    let Seen::Turn(turn) = look.seen else {
        return Ok(());
    };
    turn.effects.iter().try_for_each(|effect| {
        let (Effect::Start { attempt, correction, .. } | Effect::Watch { attempt, correction, .. }) = effect
        else {
            return Ok(());
        };
        let history = look.decided().book(&attempt.task_id).history;
        let (_, before) = history.split_last().ok_or("it was never begun")?;
        let told = correction.as_ref().map(|told| {
            let criteria = told.failed.iter().map(|unmet| unmet.criterion.clone());
            let gaps = told.gaps.iter().map(|gap| (gap.attempt, gap.failed, gap.of));
            (told.attempt, criteria.collect(), gaps.collect())
        });
        let wanted = before.last().map(|last| {
            let failed = last.verdicts.iter().filter(|(_, passed)| !passed);
            let failed = failed.filter(|(name, _)| !last.ignored.contains(name));
            let failed: Vec<_> = failed.map(|(name, _)| name.clone()).collect();
            let judged = before.iter().filter(|one| !one.verdicts.is_empty());
            let gaps: Vec<_> = judged.map(super::super::tried::Tried::gap).collect();
            (last.attempt, failed, gaps)
        });
        ensure(told == wanted, || format!("{attempt} is told {told:?}, and {wanted:?} is recorded"))
    })
}
