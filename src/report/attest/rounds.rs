//! What the controller's rounds mean for what is attested.

use std::collections::BTreeMap;

use crate::machine::{Change, Event, Fact, Verdict};
use crate::name::Name;

/// The way that each step was done in last, where that is not as it is written.
pub(super) fn ways(events: &[(u64, Event)]) -> BTreeMap<Name, Name> {
    let mut ways = BTreeMap::new();
    for (_, event) in events {
        let changes: &[Change] = match &event.fact {
            Fact::RoundClosed(round) => &round.changes,
            Fact::MemoryAdvised { changes, .. } => changes,
            _ => &[],
        };
        for change in changes {
            match &change.to {
                Some(to) => ways.insert(change.step.clone(), to.clone()),
                None => ways.remove(&change.step),
            };
        }
    }
    ways
}

/// What was ruled on the plan's own criteria in the last round.
pub(super) fn criteria(events: &[(u64, Event)]) -> Vec<&Verdict> {
    let mut last = Vec::new();
    for (_, event) in events {
        match &event.fact {
            Fact::CriterionJudged {
                attempt: None,
                verdict,
            } => last.push(verdict),
            Fact::RoundClosed(round) if round.goes_on() => last.clear(),
            _ => {}
        }
    }
    last
}
