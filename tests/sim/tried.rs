//! What became known of attempts: what was ruled on them, and what sent them back.

use std::collections::BTreeSet;

use wf_base::name::Name;
use wf_core::machine::{EventKind, GuidanceOutcome};
use wf_model::CheckPhase;

use super::ledger::{Book, Ledger};

/// What became known of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub attempt: u32,
    /// Its criteria, and whether they held.
    pub verdicts: Vec<(Name, bool)>,
    /// Those of them that did not hold, and that people let be ignored.
    pub ignored: BTreeSet<Name>,
}

impl Tried {
    /// The attempt, how many of its criteria failed, and how many there were.
    pub fn gap(&self) -> (u32, u32, u32) {
        let count = |count: usize| u32::try_from(count).expect("checks are few");
        let failed = self.verdicts.iter().filter(|(_, passed)| !passed).count();
        (self.attempt, count(failed), count(self.verdicts.len()))
    }
}

impl Ledger {
    /// Takes into account what checks ruled, and what followed.
    pub(super) fn take_of_checks(&mut self, fact: &EventKind) {
        match fact {
            EventKind::CheckCompleted { attempt: Some(attempt), verdict } => {
                let book = self.at(&attempt.task_id);
                let passed = usize::from(verdict.passed());
                book.verdicts = (book.verdicts.0 + passed, book.verdicts.1 + 1 - passed);
                if let Some(last) = book.history.last_mut() {
                    last.verdicts.push((verdict.name.clone(), verdict.passed()));
                }
            }
            EventKind::RetryScheduled { attempt, due, looped, .. } => {
                let book = self.at(&attempt.task_id);
                match looped.map(|looped| looped.phase) {
                    Some(CheckPhase::Inspect) => book.loops.0 += 1,
                    Some(CheckPhase::Test) => book.loops.1 += 1,
                    _ => {}
                }
                (book.live, book.due) = (None, Some((attempt.attempt, *due)));
                // Locks that it got are lost with an engine that dies before the attempt begins.
                book.awaits = false;
            }
            EventKind::GuidanceRequested(start) => {
                let book = self.at(&start.attempt.task_id);
                (book.live, book.consults) = (None, Some(start.attempt.attempt));
                book.guided.0 += 1;
            }
            EventKind::GuidanceEnded(end) => {
                let book = self.at(&end.attempt.task_id);
                book.consults = None;
                book.guided.1 += u32::from(matches!(end.outcome, GuidanceOutcome::Given { .. }));
            }
            _ => {}
        }
    }
}

impl Book {
    /// Notes that people let be ignored what did not hold so far.
    pub(super) fn ignores(&mut self) {
        if let Some(last) = self.history.last_mut() {
            let failed = last.verdicts.iter().filter(|(_, passed)| !passed);
            last.ignored.extend(failed.map(|(name, _)| name.clone()));
        }
    }

    /// Whether people let something be ignored of the last attempt.
    pub fn is_ignored(&self) -> bool {
        let last = self.history.last();
        last.is_some_and(|last| !last.ignored.is_empty())
    }

    pub(super) fn begins(&mut self, attempt: u32) {
        let verdicts = Vec::new();
        let ignored = BTreeSet::new();
        self.history.push(Tried { attempt, verdicts, ignored });
        self.evidence = None;
    }
}
