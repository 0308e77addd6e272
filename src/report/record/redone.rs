//! In which round an attempt was made, and in which way.

use super::Record;
use crate::machine::{Change, Place};
use crate::model::Step;
use crate::name::Name;
use crate::report::paint::{NAME, paint};
use crate::store::AttemptRow;

impl Record {
    /// The round that an attempt was made in, from 1.
    pub(super) fn round_of(&self, attempt: &AttemptRow) -> usize {
        let before = self.held.closed.iter();
        1 + before.filter(|at| **at <= attempt.started).count()
    }

    /// How many attempts of a place came before the round that an attempt was made in: `retry`
    /// counts anew in each.
    pub(super) fn made_before(&self, attempt: &AttemptRow) -> u32 {
        let round = self.round_of(attempt);
        let same = |one: &&AttemptRow| one.step == attempt.step && one.item == attempt.item;
        let own = self.attempts.iter().filter(same);
        let before = own.filter(|one| self.round_of(one) < round);
        before.map(|one| one.attempt).max().unwrap_or_default()
    }

    /// The way that a step was done in during a round, as it was last changed before, with the
    /// round that this way began with, which is 1 where memory chose it; `None`: as it is written,
    /// all along.
    pub(super) fn way_in(&self, step: &Name, round: usize) -> Option<(&Change, u32)> {
        let rounds = self.held.rounds.iter().take(round.saturating_sub(1));
        let mut changes = rounds.rev().flat_map(|round| {
            let next = round.number.saturating_add(1);
            round.changes.iter().map(move |change| (change, next))
        });
        let mut first = self.held.memory.iter().flat_map(|memory| &memory.changes);
        let own = changes.find(|(change, _)| change.step == *step);
        own.or_else(|| Some((first.find(|change| change.step == *step)?, 1)))
    }

    /// The step as it was done in a round.
    pub(super) fn as_done<'a>(&self, step: &'a Step, round: usize) -> &'a Step {
        let way = self
            .way_in(&step.id, round)
            .and_then(|(change, _)| change.to.as_ref());
        let way = way.and_then(|id| step.alternatives.iter().find(|one| one.id == *id));
        way.map_or(step, |one| one.step.as_ref())
    }

    /// In which way the step was done in the end:
    /// `` in its way `mirror_b`, since round 2 (change_path) ``.
    pub(super) fn way(&self, place: &Place) -> Option<String> {
        let (change, round) = self.way_in(&place.step, usize::MAX)?;
        let way = match &change.to {
            Some(id) => format!("in its way {}", paint(NAME, &format!("`{id}`"))),
            None => "as it is written".to_owned(),
        };
        let by = match round {
            1 => "from the start, as memory said".to_owned(),
            _ => format!("since round {round} ({})", change.kind.as_str()),
        };
        Some(format!("{way}, {by}"))
    }
}
