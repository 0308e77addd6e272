//! What is known of attempts that are staged, beside how they end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::exec::attempt::Gone;
use crate::exec::keeper::{OnBegin, Seat};
use crate::machine::Attempt;

/// How an attempt takes up room, and where it tells of itself.
#[derive(Clone, Debug)]
pub(super) struct Seated {
    pub(super) seat: Seat,
    pub(super) stage: Arc<Stage>,
}

/// Where the units of a run tell what the dispatcher learns in no other way.
#[derive(Debug)]
pub(super) struct Stage {
    begun: mpsc::UnboundedSender<Attempt>,
    bad: Mutex<BTreeSet<Attempt>>,
    lost: Mutex<BTreeSet<Attempt>>,
}

impl Stage {
    /// A stage, and the attempts that begin.
    pub(super) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Attempt>) {
        let (begun, heard) = mpsc::unbounded_channel();
        let (bad, lost) = Default::default();
        (Arc::new(Self { begun, bad, lost }), heard)
    }

    /// Tells that an attempt began that was staged.
    pub(super) fn on_begin(self: &Arc<Self>, attempt: &Attempt) -> OnBegin {
        let (stage, attempt) = (Arc::clone(self), attempt.clone());
        Box::new(move || drop(stage.begun.send(attempt)))
    }

    /// Notes how an attempt ended that is counted, before the machine learns it.
    pub(super) fn note_end(&self, attempt: &Attempt, gone: &Gone) {
        if !gone.is_plainly_well() {
            lock(&self.bad).insert(attempt.clone());
        }
    }

    /// Notes that an attempt was let begin and does not reach those who count, before the machine
    /// learns that it ended.
    pub(super) fn note_lost(&self, attempt: &Attempt) {
        lock(&self.lost).insert(attempt.clone());
    }

    /// Whether an attempt that is counted ended badly. Said once.
    pub(super) fn ended_badly(&self, attempt: &Attempt) -> bool {
        lock(&self.bad).remove(attempt)
    }

    /// Whether an attempt that was let begin did not reach those who count. Said once.
    pub(super) fn was_lost(&self, attempt: &Attempt) -> bool {
        lock(&self.lost).remove(attempt)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
