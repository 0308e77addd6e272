//! What the dispatcher knows of those who count the attempts of a run: the keeper, which lets what
//! is staged begin. See [`Seat`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc};

use crate::exec::attempt::Gone;
use crate::exec::keeper::{Seat, Staged};
use crate::machine::Attempt;

/// How an attempt takes up room, and where it tells of itself.
#[derive(Clone, Debug)]
pub(super) struct Seated {
    pub(super) seat: Seat,
    pub(super) stage: Arc<Stage>,
    /// Whether it is taken back, if it is staged.
    take_back: Arc<Notify>,
}

/// Where the units of a run tell what the dispatcher learns in no other way.
#[derive(Debug)]
pub(super) struct Stage {
    begun: mpsc::UnboundedSender<Attempt>,
    bad: Mutex<BTreeSet<Attempt>>,
    lost: Mutex<BTreeSet<Attempt>>,
}

/// As many as are always enough.
const MANY: u64 = 16;

/// What was asked of those who count, and what came of it as far as the machine knows.
#[derive(Debug)]
pub(super) struct Seats {
    stage: Arc<Stage>,
    /// The attempts that began and had been staged.
    pub(super) begun: mpsc::UnboundedReceiver<Attempt>,
    /// Those of them of which the machine is still to be told.
    pub(super) unsaid: VecDeque<Attempt>,
    /// How many ended badly.
    pub(super) bad_ends: u64,
    /// How many were let begin, and how many of them came to nothing before those who count heard
    /// of them.
    let_begin: u64,
    lost: u64,
    /// Those that are, as far as is known, and how each is taken back.
    staged: BTreeMap<Attempt, Arc<Notify>>,
    /// How many may run at once.
    room: u32,
}

impl Seats {
    /// Nothing was asked yet.
    pub(super) fn new() -> Self {
        let (to, begun) = mpsc::unbounded_channel();
        let stage = Stage {
            begun: to,
            bad: Mutex::default(),
            lost: Mutex::default(),
        };
        Self {
            stage: Arc::new(stage),
            begun,
            unsaid: VecDeque::new(),
            bad_ends: 0,
            let_begin: 0,
            lost: 0,
            staged: BTreeMap::new(),
            room: 0,
        }
    }

    /// Seats an attempt that begins at once, where so many may run.
    pub(super) fn seat(&mut self, room: u32, bad_ends: u64) -> Seated {
        self.let_begin += 1;
        self.seated(room, bad_ends, None)
    }

    /// Takes an attempt back that is staged, if it has not begun.
    pub(super) fn take_back(&self, attempt: &Attempt) {
        if let Some(take_back) = self.staged.get(attempt) {
            take_back.notify_one();
        }
    }

    /// Seats an attempt that is staged, at a place in the order of the plan.
    pub(super) fn stage(
        &mut self,
        at: u64,
        attempt: &Attempt,
        (room, bad_ends): (u32, u64),
    ) -> Seated {
        self.room = room;
        let seated = self.seated(room, bad_ends, Some(at));
        let take_back = Arc::clone(&seated.take_back);
        self.staged.insert(attempt.clone(), take_back);
        seated
    }

    fn seated(&self, room: u32, bad_ends: u64, staged: Option<u64>) -> Seated {
        Seated {
            seat: Seat {
                room,
                staged,
                bad_ends,
                let_begin: self.let_begin,
                lost: self.lost,
            },
            stage: Arc::clone(&self.stage),
            take_back: Arc::default(),
        }
    }

    /// The next attempt that began and of which the machine is still to be told.
    pub(super) fn next_begun(&mut self) -> Option<Attempt> {
        let unsaid = self.unsaid.pop_front();
        let begun = unsaid.or_else(|| self.begun.try_recv().ok())?;
        self.staged.remove(&begun);
        Some(begun)
    }

    /// An attempt that was staged does not begin.
    pub(super) fn unstaged(&mut self, attempt: &Attempt) {
        self.staged.remove(attempt);
    }

    /// Whether so many are staged that others are not missed before these have begun, and what is
    /// decided meanwhile may share a write.
    pub(super) fn are_many(&self) -> bool {
        let enough = u64::from(self.room).saturating_mul(4).min(MANY);
        enough > 0 && self.staged.len() as u64 >= enough
    }

    /// An attempt has ended, and the machine is about to learn it. Where it was let begin and does
    /// not reach those who count, they keep room for it until they are asked for others, which know
    /// of it: so what is staged is taken back.
    pub(super) fn ended(&mut self, attempt: &Attempt) {
        self.staged.remove(attempt);
        self.bad_ends += u64::from(lock(&self.stage.bad).remove(attempt));
        if lock(&self.stage.lost).remove(attempt) {
            self.lost += 1;
            self.staged.values().for_each(|staged| staged.notify_one());
        }
    }
}

impl Seated {
    /// How it is taken back, if it is staged, and who is told that it began.
    pub(super) fn staged(&self, attempt: &Attempt) -> Option<Staged> {
        let (stage, attempt) = (Arc::clone(&self.stage), attempt.clone());
        self.seat.staged.map(|_| Staged {
            take_back: Arc::clone(&self.take_back),
            on_begin: Box::new(move || drop(stage.begun.send(attempt))),
        })
    }

    /// Notes how the attempt ended, before the machine learns it.
    pub(super) fn note_end(&self, attempt: &Attempt, gone: &Gone) {
        if !gone.is_plainly_well() {
            lock(&self.stage.bad).insert(attempt.clone());
        }
    }

    /// Notes that the attempt does not reach those who count, before the machine learns that it
    /// ended. They do not wait for one that is staged.
    pub(super) fn note_lost(&self, attempt: &Attempt) {
        if self.seat.staged.is_none() {
            lock(&self.stage.lost).insert(attempt.clone());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Seats;
    use crate::machine::{Attempt, Place};
    use crate::name::Name;

    fn attempt(number: u32) -> Attempt {
        Attempt {
            place: Place::of(&Name::parse("a").unwrap()),
            attempt: number,
        }
    }

    #[test]
    fn many_are_staged_while_twice_as_many_as_may_run_could_still_begin_and_end() {
        let mut seats = Seats::new();
        for number in 0..8 {
            assert!(!seats.are_many(), "{number}");
            seats.stage(number.into(), &attempt(number), (2, 0));
        }
        assert!(seats.are_many());
        seats.unstaged(&attempt(0));
        assert!(!seats.are_many());
    }
}
