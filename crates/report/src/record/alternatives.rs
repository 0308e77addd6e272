//! The round and the alternative of an attempt.

use super::RunDecisions;
use wf_base::{
    name::Name,
    untrusted::{NAME, paint},
};
use wf_core::machine::{AlternativeSwitch, TaskId};
use wf_model::Step;
use wf_store::AttemptRow;

impl RunDecisions {
    /// Returns the round an attempt was made in, from 1.
    pub(super) fn round_of(&self, attempt: &AttemptRow) -> usize {
        let before = self.closed.iter();
        1 + before.filter(|at| **at <= attempt.started).count()
    }

    /// Returns the alternative a step used during a round, by the last change before it, with
    /// the first round of that alternative: 1 if memory chose it; `None` if it was done as
    /// written all along.
    fn alternative_in_round(&self, step: &Name, round: usize) -> Option<(&AlternativeSwitch, u32)> {
        let rounds = self.rounds.iter().take(round.saturating_sub(1));
        let mut changes = rounds.rev().flat_map(|round| {
            let next = round.round.saturating_add(1);
            round.changes.iter().map(move |change| (change, next))
        });
        let mut first = self.memory.iter().flat_map(|memory| &memory.changes);
        let own = changes.find(|(change, _)| change.step == *step);
        own.or_else(|| Some((first.find(|change| change.step == *step)?, 1)))
    }

    pub(super) fn executed_step<'a>(&self, step: &'a Step, round: usize) -> &'a Step {
        let way = self.alternative_in_round(&step.id, round).and_then(|(change, _)| change.to.as_ref());
        let way = way.and_then(|id| step.alternatives.iter().find(|declared| declared.id == *id));
        way.map_or(step, |alternative| alternative.step.as_ref())
    }

    /// Returns the alternative the step used last:
    /// `` in its way `mirror_b`, since round 2 (change_path) ``.
    pub(super) fn last_alternative(&self, task_id: &TaskId) -> Option<String> {
        let (change, round) = self.alternative_in_round(&task_id.step, usize::MAX)?;
        let way = match &change.to {
            Some(id) => format!("with alternative {}", paint(NAME, &format!("`{id}`"))),
            None => "as written".to_owned(),
        };
        let by = match round {
            1 => "from the start, on memory's advice".to_owned(),
            _ => format!("since round {round} ({})", change.kind.as_str()),
        };
        Some(format!("{way}, {by}"))
    }
}
