use serde::Serialize;

use super::{Held, Record};
use crate::machine::{Attempt, Decision, Event, Fact, Loop, Place, Standing, StepState};
use crate::model::CheckPhase;
use crate::store::StepRow;

/// An attempt that followed because a check of `inspect` or `test` did not hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Looped {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// Which loop of which phase it is.
    #[serde(rename = "loop")]
    pub looped: Loop,
}

impl Looped {
    /// The events that it is made of.
    pub const EVENTS: [&'static str; 1] = ["retry_scheduled"];

    /// The loops that events tell of, in order.
    pub fn all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let loops = events.into_iter().filter_map(|event| match &event.fact {
            Fact::RetryScheduled {
                attempt,
                looped: Some(looped),
                ..
            } => Some(Self {
                attempt: attempt.clone(),
                looped: *looped,
            }),
            _ => None,
        });
        loops.collect()
    }
}

impl Record {
    /// How far the loops of a place are used, and what people let be ignored: `inspect 2/3`.
    pub(super) fn looped(&self, place: &Place) -> Vec<String> {
        let own = self.loops.iter().filter(|one| one.attempt.place == *place);
        let last = |phase| own.clone().rev().find(|one| one.looped.phase == phase);
        let phases = [CheckPhase::Inspect, CheckPhase::Test];
        let loops = phases.into_iter().filter_map(last);
        let mut told: Vec<String> = loops.map(|one| one.looped.to_string()).collect();
        told.extend(self.ignored(place));
        told
    }

    /// How many of the attempts of a place were loops, up to one of them.
    pub(super) fn loops_until(&self, place: &Place, attempt: u32) -> u32 {
        let own = self.loops.iter();
        let own = own.filter(|one| one.attempt.place == *place && one.attempt.attempt <= attempt);
        u32::try_from(own.count()).unwrap_or(u32::MAX)
    }

    /// How an attempt was sent back by `inspect` or `test`, or why it was not; `None`: neither
    /// of them found anything.
    pub(super) fn looped_after(&self, row: &StepRow, attempt: u32) -> Option<String> {
        let place = super::record::place(row);
        let next = self.loops.iter().find(|one| {
            one.attempt.place == place && one.attempt.attempt == attempt.saturating_add(1)
        });
        if let Some(Looped { looped, .. }) = next {
            let (phase, n, max) = (looped.phase.as_str(), looped.number, looped.of);
            return Some(format!("`{phase}` sent it back: loop {n} of {max}"));
        }
        let own = self.checks.iter().filter(|check| {
            let of_step = check.step.as_ref() == Some(&place.step) && check.item == place.item;
            of_step && check.attempt == Some(attempt) && !check.verdict.passed()
        });
        let phase = own.map(|check| check.verdict.phase).max()?;
        let ended = row.state == StepState::Failed && phase != CheckPhase::Verify;
        ended.then(|| format!("no loop of `{}` was left", phase.as_str()))
    }

    /// What people let be ignored of a result that is not verified: `inspect ignored by ada`.
    pub(super) fn ignored(&self, place: &Place) -> Vec<String> {
        let own = |row: &&StepRow| super::record::place(row) == *place;
        let row = self.steps.iter().find(own);
        // What was ignored of an attempt before the one that is verified says nothing.
        match row {
            Some(row) if row.standing != Standing::Verified => ignored_in(&self.held, place),
            _ => Vec::new(),
        }
    }
}

fn ignored_in(held: &Held, place: &Place) -> Vec<String> {
    let own = held.questions.iter();
    let own = own.filter(|question| question.ask.place.as_ref() == Some(place));
    let said = own.filter_map(|question| {
        let (phase, given) = (question.ask.phase?, question.given.as_ref()?);
        let names: Vec<&str> = given.by.iter().map(|by| by.name.as_str()).collect();
        let by = format!("{} ignored by {}", phase.as_str(), names.join(", "));
        (given.decision == Decision::Approved).then_some(by)
    });
    said.collect()
}
