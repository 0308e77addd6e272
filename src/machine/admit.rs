//! Who may begin: room, locks, gates, the cache.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::advance::wait_end;
use super::scope::{self, View};
use super::state::{self, Doing, Live, Spot};
use super::{Effect, Fact, Machine, Timer, stage};
use crate::model::Work;

/// How a place begins whose turn it is.
enum Entry {
    /// There is room: at once.
    Begins,
    /// There is none: as soon as another has ended.
    IsStaged,
}

impl Machine {
    /// Begins what there is room for. True if something changed that may let more go on.
    pub(super) fn admit(&mut self) -> bool {
        let mut moved = false;
        loop {
            if let Some(spot) = self.first(&self.state.roomless) {
                self.state.roomless.remove(&spot);
                self.admit_one(spot);
            } else if let Some((spot, entry)) = self.next_in_turn() {
                self.state.queue.remove(&spot);
                match entry {
                    Entry::Begins => self.admit_one(spot),
                    Entry::IsStaged => self.stage(spot),
                }
            } else {
                self.make_way();
                return moved;
            }
            moved = true;
        }
    }

    /// The place whose turn it is, and how it begins, if there is room for it, or it may be staged.
    fn next_in_turn(&self) -> Option<(Spot, Entry)> {
        let spot = self.turn_of()?;
        let room = self.plan.parts().policy.max_parallel.max(1);
        let staged = self.state.counts.staged;
        // What is staged is told apart from the rest only by those who keep the processes, and
        // they count nothing but processes.
        if self.state.busy.saturating_add(staged) < room {
            let may = staged == 0 || stage::is_plain(&self.plan, spot.ix());
            return may.then_some((spot, Entry::Begins));
        }
        let most = stage::most(room, self.state.counts.well);
        // What comes before others that are staged need not wait for them.
        let may =
            staged < most || staged < most.saturating_mul(2) && Some(spot) < self.last_staged();
        (may && self.may_stage(spot)).then_some((spot, Entry::IsStaged))
    }

    /// The place whose turn it is.
    pub(super) fn turn_of(&self) -> Option<Spot> {
        self.first(&self.state.queue)
    }

    /// The first place of those that wait for their turn that may have it. While something that
    /// takes up room wants its lock back, after a resume, nobody else takes a lock and then waits
    /// for room: else each could wait for what the other has, even across runs.
    fn first(&self, waiting: &BTreeSet<Spot>) -> Option<Spot> {
        let free = |spot: &&Spot| {
            self.state.returning.is_empty()
                || self.plan.step(spot.ix()).concurrency.is_none()
                || self.state.locked.contains(spot)
        };
        waiting.iter().find(free).copied()
    }

    fn admit_one(&mut self, spot: Spot) {
        if !self.affords(spot) {
            return self.refuse(spot);
        }
        if self.gate_enter(spot) {
            return;
        }
        let step = self.plan.step(spot.ix());
        let place = state::place(&self.plan, spot);
        if let Some(lock) = &step.concurrency
            && !self.state.locked.contains(&spot)
        {
            let lock = lock.clone();
            let told = self.state.place(spot).is_some_and(|slot| slot.awaits);
            if told {
                self.state.locking.insert(spot);
            } else {
                let (place, lock) = (place.clone(), lock.clone());
                self.emit(Fact::LockAwaited { place, lock });
            }
            self.turn.effects.push(Effect::Lock { place, lock });
            return;
        }
        let first = self
            .state
            .place(spot)
            .is_some_and(|slot| slot.attempts == 0 && slot.result.is_none());
        if step.cache.is_none() || !first {
            return self.start(spot);
        }
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: Some(spot),
        };
        match scope::work_reads(&view, step) {
            Ok(reads) => {
                let live = Live {
                    attempt: 0,
                    since: self.now,
                    doing: Doing::Looking,
                    room: true,
                    plain: false,
                };
                self.state.engage(spot, live);
                let item_value = self.state.item(spot).cloned();
                self.turn.effects.push(Effect::Lookup {
                    place,
                    item_value,
                    reads,
                });
            }
            Err(error) => self.unable(spot, &error.to_string()),
        }
    }

    /// Begins the next attempt of a place.
    pub(super) fn start(&mut self, spot: Spot) {
        if !self.affords(spot) {
            return self.refuse(spot);
        }
        let plan = Arc::clone(&self.plan);
        let step = plan.step(spot.ix());
        let view = View {
            plan: &plan,
            state: &self.state,
            spot: Some(spot),
        };
        let reads = match scope::work_reads(&view, step) {
            Ok(reads) => reads,
            Err(error) => return self.unable(spot, &error.to_string()),
        };
        let made = self.state.place(spot).map_or(0, |slot| slot.attempts);
        let attempt = state::attempt(&plan, spot, made.saturating_add(1));
        self.emit(Fact::AttemptStarted(attempt.clone()));
        if let Work::Approve(approve) = &step.work {
            return self.ask_step(spot, approve);
        }
        let item_value = self.state.item(spot).cloned();
        match wait_end(&step.work, step.timeout, self.now) {
            Some((at, _)) => self.turn.effects.push(Effect::Wake {
                timer: Timer::Wait(attempt),
                at,
            }),
            None => self.turn.effects.push(Effect::Start {
                attempt,
                item_value,
                reads,
                correction: self.correction(spot),
                tool_args: self.tool_args(spot),
            }),
        }
    }
}
