//! The admission of a run's attempts: no more at once than permitted, and staged ones only after successes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::RunAttempt;

/// The claim of an attempt on the room of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityClaim {
    /// The number of attempts of the run that may be under way at once.
    pub room: u32,
    /// The position among the staged attempts, if it is staged: it waits until there is room. An
    /// unstaged one begins at once, because the engine knows that there is room.
    pub staged: Option<u64>,
    /// The number of failures known to the engine when it decided this.
    pub bad_ends: u64,
    /// The number of unstaged attempts released by then, this one included: requests travel in
    /// parallel, and some may still be in transit.
    pub let_begin: u64,
    /// The number of those that are known never to arrive.
    pub lost: u64,
}

/// The counted attempts of a run.
///
/// **Invariant:** no staged attempt begins without knowledge of a failure: after a failure, waiting
/// attempts are refused.
#[derive(Debug)]
pub(super) struct AttemptPool<T> {
    under_way: u64,
    failures: u64,
    /// The numbers of unstaged attempts that arrived, that were released, and that will not arrive.
    arrived: u64,
    admitted: u64,
    cancelled_before_start: u64,
    room: u32,
    /// The waiting attempts in the order of their positions.
    waiting: VecDeque<(u64, RunAttempt, T)>,
}

/// The reaction to an arriving attempt.
#[derive(Debug, PartialEq)]
pub(super) enum ArrivalDecision<T> {
    /// The attempt begins now.
    Begins(T),
    /// The attempt waits.
    Waits,
    /// The attempt does not begin.
    Refused,
}

/// The consequence of an attempt's end.
#[derive(Debug, PartialEq)]
pub(super) enum PoolDecision<T> {
    /// The waiting attempts that begin now.
    Begin(Vec<T>),
    /// The waiting attempts that do not begin.
    Refuse(Vec<T>),
}

impl<T> Default for AttemptPool<T> {
    fn default() -> Self {
        Self {
            under_way: 0,
            failures: 0,
            arrived: 0,
            admitted: 0,
            cancelled_before_start: 0,
            room: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<T> AttemptPool<T> {
    /// Admits an arriving attempt, queues it or refuses it.
    pub(super) fn arrives(&mut self, task: &RunAttempt, seat: CapacityClaim, it: T) -> ArrivalDecision<T> {
        self.room = seat.room;
        self.admitted = self.admitted.max(seat.let_begin);
        self.cancelled_before_start = self.cancelled_before_start.max(seat.lost);
        if let Some(number) = seat.staged {
            if seat.bad_ends < self.failures {
                return ArrivalDecision::Refused;
            }
            if !(self.has_room() && self.waiting.is_empty()) {
                let at = (self.waiting).partition_point(|(before, ..)| *before <= number);
                self.waiting.insert(at, (number, task.clone(), it));
                return ArrivalDecision::Waits;
            }
        } else {
            self.arrived += 1;
        }
        self.under_way += 1;
        ArrivalDecision::Begins(it)
    }

    /// True if there is room for one more beside the attempts in transit.
    fn has_room(&self) -> bool {
        let arrive = self.admitted.saturating_sub(self.cancelled_before_start + self.arrived);
        self.under_way + arrive < u64::from(self.room)
    }

    /// Records the end of an attempt that had begun.
    pub(super) fn ended(&mut self, well: bool) -> PoolDecision<T> {
        self.under_way = self.under_way.saturating_sub(1);
        if !well {
            self.failures += 1;
            return PoolDecision::Refuse(self.clear());
        }
        let mut begin = Vec::new();
        while self.has_room()
            && let Some((.., it)) = self.waiting.pop_front()
        {
            self.under_way += 1;
            begin.push(it);
        }
        PoolDecision::Begin(begin)
    }

    /// Withdraws a waiting attempt; `None`: it does not wait.
    pub(super) fn withdraw(&mut self, task: &RunAttempt) -> Option<T> {
        let at = self.waiting.iter().position(|(_, waits, _)| waits == task)?;
        self.waiting.remove(at).map(|(.., it)| it)
    }

    /// Withdraws all waiting attempts.
    pub(super) fn clear(&mut self) -> Vec<T> {
        self.waiting.drain(..).map(|(.., it)| it).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ArrivalDecision, AttemptPool, CapacityClaim, PoolDecision, RunAttempt};
    use wf_base::name::{Name, RunId};
    use wf_core::machine::{Attempt, TaskId};

    fn task(step: &str) -> RunAttempt {
        RunAttempt {
            run: RunId::from_bytes([7; 16]),
            attempt: Attempt { place: TaskId::of_step(&Name::parse(step).unwrap()), attempt: 1 },
        }
    }

    fn seat(staged: bool, bad_ends: u64) -> CapacityClaim {
        CapacityClaim { room: 2, staged: staged.then_some(0), bad_ends, let_begin: 0, lost: 0 }
    }

    /// A pool of two with two attempts under way and two waiting.
    fn full() -> AttemptPool<char> {
        let mut pool = AttemptPool::default();
        for it in ['a', 'b'] {
            let arrival = pool.arrives(&task("x"), seat(false, 0), it);
            assert_eq!(arrival, ArrivalDecision::Begins(it));
        }
        // The second overtook the first.
        for (name, it, number) in [("d", 'd', 2), ("c", 'c', 1)] {
            let seat = CapacityClaim { staged: Some(number), ..seat(true, 0) };
            assert_eq!(pool.arrives(&task(name), seat, it), ArrivalDecision::Waits);
        }
        pool
    }

    #[test]
    fn what_waits_begins_in_order_as_others_end() {
        let mut pool = full();
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec!['c']));
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec!['d']));
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec![]));
        // There is room, so it does not wait.
        let arrival = pool.arrives(&task("e"), seat(true, 0), 'e');
        assert_eq!(arrival, ArrivalDecision::Begins('e'));
        let arrival = pool.arrives(&task("f"), seat(true, 0), 'f');
        assert_eq!(arrival, ArrivalDecision::Waits);
    }

    #[test]
    fn nothing_begins_that_does_not_know_of_a_bad_end() {
        let mut pool = full();
        assert_eq!(pool.ended(false), PoolDecision::Refuse(vec!['c', 'd']));
        let arrival = pool.arrives(&task("c"), seat(true, 0), 'c');
        assert_eq!(arrival, ArrivalDecision::Refused);
        // A request that knows of the failure may begin.
        let arrival = pool.arrives(&task("c"), seat(true, 1), 'c');
        assert_eq!(arrival, ArrivalDecision::Begins('c'));
        // An unstaged attempt was released when there was room.
        let arrival = pool.arrives(&task("d"), seat(false, 0), 'd');
        assert_eq!(arrival, ArrivalDecision::Begins('d'));
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec![]));
    }

    #[test]
    fn room_is_kept_for_what_is_on_its_way() {
        let with = |staged, let_begin, lost| CapacityClaim { let_begin, lost, ..seat(staged, 0) };
        let mut pool = AttemptPool::default();
        let first = pool.arrives(&task("a"), with(false, 1, 0), 'a');
        assert_eq!(first, ArrivalDecision::Begins('a'));
        // It overtook an attempt released before it.
        let early = pool.arrives(&task("c"), with(true, 2, 0), 'c');
        assert_eq!(early, ArrivalDecision::Waits);
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec!['c']));
        let late = pool.arrives(&task("b"), with(false, 2, 0), 'b');
        assert_eq!(late, ArrivalDecision::Begins('b'));
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec![]));
        // The third never arrives, and a request that knows this does not wait for it.
        let next = pool.arrives(&task("d"), with(true, 3, 0), 'd');
        assert_eq!(next, ArrivalDecision::Waits);
        assert_eq!(pool.withdraw(&task("d")), Some('d'));
        let next = pool.arrives(&task("d"), with(true, 3, 1), 'd');
        assert_eq!(next, ArrivalDecision::Begins('d'));
    }

    #[test]
    fn what_waits_can_be_taken_back() {
        let mut pool = full();
        assert_eq!(pool.withdraw(&task("c")), Some('c'));
        assert_eq!(pool.withdraw(&task("c")), None);
        assert_eq!(pool.ended(true), PoolDecision::Begin(vec!['d']));
        assert_eq!(pool.clear(), Vec::<char>::new());
    }
}
