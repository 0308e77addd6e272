//! The dispatcher's knowledge of the supervisor, which counts the attempts of a run and lets staged
//! ones begin. See [`CapacityClaim`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use wf_core::machine::Attempt;
use wf_exec::attempt::ProcessOutcome;
use wf_exec::keeper::{CapacityClaim, StagedHooks};

/// The room that an attempt takes up, and its channel to the dispatcher.
#[derive(Clone, Debug)]
pub(super) struct CapacityHandle {
    pub(super) claim: CapacityClaim,
    pub(super) reports: Arc<CapacityReports>,
    /// The signal that takes it back, if it is staged.
    withdraw: Arc<Notify>,
}

/// The channel for what the dispatcher learns from the units of a run in no other way.
#[derive(Debug)]
pub(super) struct CapacityReports {
    started: mpsc::UnboundedSender<Attempt>,
    failed: Mutex<BTreeSet<Attempt>>,
    cancelled_before_start: Mutex<BTreeSet<Attempt>>,
}

/// A number of staged attempts that is always enough.
const ENOUGH_STAGED: u64 = 16;

/// The requests to the supervisor, and their results as far as the machine knows.
#[derive(Debug)]
pub(super) struct CapacityTracker {
    reports: Arc<CapacityReports>,
    /// The staged attempts that began.
    pub(super) started: mpsc::UnboundedReceiver<Attempt>,
    /// Begun attempts still to be reported to the machine.
    pub(super) unreported_starts: VecDeque<Attempt>,
    /// The number of bad ends.
    pub(super) failures: u64,
    /// The number of attempts let begin, and the number of those that came to nothing before the
    /// supervisor heard of them.
    admitted: u64,
    cancelled_before_start: u64,
    /// The staged attempts, as far as known, each with the signal that takes it back.
    staged: BTreeMap<Attempt, Arc<Notify>>,
    /// The concurrency limit.
    room: u32,
}

impl CapacityTracker {
    /// Creates the state before any request.
    pub(super) fn new() -> Self {
        let (to, begun) = mpsc::unbounded_channel();
        let stage = CapacityReports {
            started: to,
            failed: Mutex::default(),
            cancelled_before_start: Mutex::default(),
        };
        Self {
            reports: Arc::new(stage),
            started: begun,
            unreported_starts: VecDeque::new(),
            failures: 0,
            admitted: 0,
            cancelled_before_start: 0,
            staged: BTreeMap::new(),
            room: 0,
        }
    }

    /// Seats an attempt that begins at once, under a concurrency limit.
    pub(super) fn claim_now(&mut self, room: u32, bad_ends: u64) -> CapacityHandle {
        self.admitted += 1;
        self.new_handle(room, bad_ends, None)
    }

    /// Takes a staged attempt back, if it has not begun.
    pub(super) fn take_back(&self, attempt: &Attempt) {
        if let Some(take_back) = self.staged.get(attempt) {
            take_back.notify_one();
        }
    }

    /// Seats a staged attempt, at a position in plan order.
    pub(super) fn claim_staged(
        &mut self,
        at: u64,
        attempt: &Attempt,
        (room, bad_ends): (u32, u64),
    ) -> CapacityHandle {
        self.room = room;
        let seated = self.new_handle(room, bad_ends, Some(at));
        let take_back = Arc::clone(&seated.withdraw);
        self.staged.insert(attempt.clone(), take_back);
        seated
    }

    fn new_handle(&self, room: u32, bad_ends: u64, staged: Option<u64>) -> CapacityHandle {
        CapacityHandle {
            claim: CapacityClaim {
                room,
                staged,
                bad_ends,
                let_begin: self.admitted,
                lost: self.cancelled_before_start,
            },
            reports: Arc::clone(&self.reports),
            withdraw: Arc::default(),
        }
    }

    /// Returns the next begun attempt that is still to be reported to the machine.
    pub(super) fn next_begun(&mut self) -> Option<Attempt> {
        let unsaid = self.unreported_starts.pop_front();
        let begun = unsaid.or_else(|| self.started.try_recv().ok())?;
        self.staged.remove(&begun);
        Some(begun)
    }

    /// Notes that a staged attempt does not begin.
    pub(super) fn forget_staged(&mut self, attempt: &Attempt) {
        self.staged.remove(attempt);
    }

    /// True if so many are staged that others are not missed before these have begun, and decisions
    /// made meanwhile may share a write.
    pub(super) fn has_enough_staged(&self) -> bool {
        let enough = u64::from(self.room).saturating_mul(4).min(ENOUGH_STAGED);
        enough > 0 && self.staged.len() as u64 >= enough
    }

    /// Notes the end of an attempt, before the machine learns it. If it was let begin and does not
    /// reach the supervisor, room is kept for it there until a request for others, which reports
    /// it: so all staged attempts are taken back.
    pub(super) fn note_attempt_end(&mut self, attempt: &Attempt) {
        self.staged.remove(attempt);
        self.failures += u64::from(lock(&self.reports.failed).remove(attempt));
        if lock(&self.reports.cancelled_before_start).remove(attempt) {
            self.cancelled_before_start += 1;
            self.staged.values().for_each(|staged| staged.notify_one());
        }
    }
}

impl CapacityHandle {
    /// Returns the signal that takes it back, if it is staged, and the receiver of its start.
    pub(super) fn staged_hooks(&self, attempt: &Attempt) -> Option<StagedHooks> {
        let (stage, attempt) = (Arc::clone(&self.reports), attempt.clone());
        self.claim.staged.map(|_| StagedHooks {
            withdraw: Arc::clone(&self.withdraw),
            on_begin: Box::new(move || drop(stage.started.send(attempt))),
        })
    }

    /// Notes the end of the attempt, before the machine learns it.
    pub(super) fn note_end(&self, attempt: &Attempt, gone: &ProcessOutcome) {
        if !gone.is_plainly_well() {
            lock(&self.reports.failed).insert(attempt.clone());
        }
    }

    /// Notes that the attempt does not reach the supervisor, before the machine learns that it
    /// ended. The supervisor does not wait for a staged one.
    pub(super) fn note_lost(&self, attempt: &Attempt) {
        if self.claim.staged.is_none() {
            lock(&self.reports.cancelled_before_start).insert(attempt.clone());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::CapacityTracker;
    use wf_base::name::Name;
    use wf_core::machine::{Attempt, TaskId};

    fn attempt(number: u32) -> Attempt {
        Attempt { place: TaskId::of_step(&Name::parse("a").unwrap()), attempt: number }
    }

    #[test]
    fn many_are_staged_while_twice_as_many_as_may_run_could_still_begin_and_end() {
        let mut seats = CapacityTracker::new();
        for number in 0..8 {
            assert!(!seats.has_enough_staged(), "{number}");
            seats.claim_staged(number.into(), &attempt(number), (2, 0));
        }
        assert!(seats.has_enough_staged());
        seats.forget_staged(&attempt(0));
        assert!(!seats.has_enough_staged());
    }
}
