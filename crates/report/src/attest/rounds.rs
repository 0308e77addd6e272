//! The rounds of the controller as far as an attestation needs them.

use std::collections::BTreeMap;

use wf_base::name::Name;
use wf_core::machine::{AlternativeSwitch, CheckVerdict, Event, EventKind};

/// The alternative that each step last used, where it was not the step as written.
pub(super) fn last_alternatives(events: &[(u64, Event)]) -> BTreeMap<Name, Name> {
    let mut ways = BTreeMap::new();
    for (_, event) in events {
        let switches: &[AlternativeSwitch] = match &event.fact {
            EventKind::RoundCompleted(round) => &round.changes,
            EventKind::MemoryApplied { changes, .. } => changes,
            _ => &[],
        };
        for change in switches {
            match &change.to {
                Some(to) => ways.insert(change.step.clone(), to.clone()),
                None => ways.remove(&change.step),
            };
        }
    }
    ways
}

/// The verdicts on the plan's own criteria in the last round.
pub(super) fn last_criteria(events: &[(u64, Event)]) -> Vec<&CheckVerdict> {
    let mut last = Vec::new();
    for (_, event) in events {
        match &event.fact {
            EventKind::CheckCompleted { attempt: None, verdict } => last.push(verdict),
            EventKind::RoundCompleted(round) if round.goes_on() => last.clear(),
            _ => {}
        }
    }
    last
}
