//! Who may begin of a run: no more at once than may, and what is staged only after good ends.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Task;

/// How an attempt takes up room among those of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// How many of the run may be under way at once.
    pub room: u32,
    /// Its place in the order of those that are staged, if it is: it waits until there is room. One
    /// that is not begins at once, because whoever asks knows that there is.
    pub staged: Option<u64>,
    /// After how many bad ends this was decided.
    pub bad_ends: u64,
    /// How many that are not staged were let begin by then, with this one: requests travel side by
    /// side, and some may still be on their way.
    pub let_begin: u64,
    /// How many of them never came, as far as was known by then.
    pub lost: u64,
}

/// The attempts of a run that take up room.
///
/// **Invariant:** nothing begins that was staged without knowing of a bad end: after one,
/// what waits is refused.
#[derive(Debug)]
pub(super) struct Pool<T> {
    under_way: u64,
    bad_ends: u64,
    /// How many came that were not staged, how many were let begin, and how many do not come.
    came: u64,
    let_begin: u64,
    lost: u64,
    room: u32,
    /// In the order of their numbers.
    waiting: VecDeque<(u64, Task, T)>,
}

/// What becomes of an attempt that arrives.
#[derive(Debug, PartialEq)]
pub(super) enum Arrival<T> {
    /// It begins now.
    Begins(T),
    /// It waits.
    Waits,
    /// It does not begin.
    Refused,
}

/// What follows from an end.
#[derive(Debug, PartialEq)]
pub(super) enum Next<T> {
    /// These begin now.
    Begin(Vec<T>),
    /// These do not begin.
    Refuse(Vec<T>),
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self {
            under_way: 0,
            bad_ends: 0,
            came: 0,
            let_begin: 0,
            lost: 0,
            room: 0,
            waiting: VecDeque::new(),
        }
    }
}

impl<T> Pool<T> {
    /// An attempt arrives.
    pub(super) fn arrives(&mut self, task: &Task, seat: Seat, it: T) -> Arrival<T> {
        self.room = seat.room;
        self.let_begin = self.let_begin.max(seat.let_begin);
        self.lost = self.lost.max(seat.lost);
        if let Some(number) = seat.staged {
            if seat.bad_ends < self.bad_ends {
                return Arrival::Refused;
            }
            if !(self.has_room() && self.waiting.is_empty()) {
                let at = (self.waiting).partition_point(|(before, ..)| *before <= number);
                self.waiting.insert(at, (number, task.clone(), it));
                return Arrival::Waits;
            }
        } else {
            self.came += 1;
        }
        self.under_way += 1;
        Arrival::Begins(it)
    }

    /// Whether there is room for one more, beside those that are on their way.
    fn has_room(&self) -> bool {
        let arrive = self.let_begin.saturating_sub(self.lost + self.came);
        self.under_way + arrive < u64::from(self.room)
    }

    /// An attempt that had begun has ended.
    pub(super) fn ended(&mut self, well: bool) -> Next<T> {
        self.under_way = self.under_way.saturating_sub(1);
        if !well {
            self.bad_ends += 1;
            return Next::Refuse(self.clear());
        }
        let mut begin = Vec::new();
        while self.has_room()
            && let Some((.., it)) = self.waiting.pop_front()
        {
            self.under_way += 1;
            begin.push(it);
        }
        Next::Begin(begin)
    }

    /// Takes an attempt back; `None`: it does not wait.
    pub(super) fn take(&mut self, task: &Task) -> Option<T> {
        let at = self
            .waiting
            .iter()
            .position(|(_, waits, _)| waits == task)?;
        self.waiting.remove(at).map(|(.., it)| it)
    }

    /// Takes all back that wait.
    pub(super) fn clear(&mut self) -> Vec<T> {
        self.waiting.drain(..).map(|(.., it)| it).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Next, Pool, Seat, Task};
    use crate::machine::{Attempt, Place};
    use crate::name::{Name, RunId};

    fn task(step: &str) -> Task {
        Task {
            run: RunId::from_bytes([7; 16]),
            attempt: Attempt {
                place: Place::of(&Name::parse(step).unwrap()),
                attempt: 1,
            },
        }
    }

    fn seat(staged: bool, bad_ends: u64) -> Seat {
        Seat {
            room: 2,
            staged: staged.then_some(0),
            bad_ends,
            let_begin: 0,
            lost: 0,
        }
    }

    /// A pool of two with two under way, and two that wait.
    fn full() -> Pool<char> {
        let mut pool = Pool::default();
        for it in ['a', 'b'] {
            let arrival = pool.arrives(&task("x"), seat(false, 0), it);
            assert_eq!(arrival, Arrival::Begins(it));
        }
        // The second overtook the first.
        for (name, it, number) in [("d", 'd', 2), ("c", 'c', 1)] {
            let seat = Seat {
                staged: Some(number),
                ..seat(true, 0)
            };
            assert_eq!(pool.arrives(&task(name), seat, it), Arrival::Waits);
        }
        pool
    }

    #[test]
    fn what_waits_begins_in_order_as_others_end() {
        let mut pool = full();
        assert_eq!(pool.ended(true), Next::Begin(vec!['c']));
        assert_eq!(pool.ended(true), Next::Begin(vec!['d']));
        assert_eq!(pool.ended(true), Next::Begin(vec![]));
        // There is room: it is not waited for.
        let arrival = pool.arrives(&task("e"), seat(true, 0), 'e');
        assert_eq!(arrival, Arrival::Begins('e'));
        let arrival = pool.arrives(&task("f"), seat(true, 0), 'f');
        assert_eq!(arrival, Arrival::Waits);
    }

    #[test]
    fn nothing_begins_that_does_not_know_of_a_bad_end() {
        let mut pool = full();
        assert_eq!(pool.ended(false), Next::Refuse(vec!['c', 'd']));
        let arrival = pool.arrives(&task("c"), seat(true, 0), 'c');
        assert_eq!(arrival, Arrival::Refused);
        // Whoever knows of it may let others begin.
        let arrival = pool.arrives(&task("c"), seat(true, 1), 'c');
        assert_eq!(arrival, Arrival::Begins('c'));
        // What is not staged was decided when there was room.
        let arrival = pool.arrives(&task("d"), seat(false, 0), 'd');
        assert_eq!(arrival, Arrival::Begins('d'));
        assert_eq!(pool.ended(true), Next::Begin(vec![]));
    }

    #[test]
    fn room_is_kept_for_what_is_on_its_way() {
        let with = |staged, let_begin, lost| Seat {
            let_begin,
            lost,
            ..seat(staged, 0)
        };
        let mut pool = Pool::default();
        let first = pool.arrives(&task("a"), with(false, 1, 0), 'a');
        assert_eq!(first, Arrival::Begins('a'));
        // It overtook the one that was let begin before it.
        let early = pool.arrives(&task("c"), with(true, 2, 0), 'c');
        assert_eq!(early, Arrival::Waits);
        assert_eq!(pool.ended(true), Next::Begin(vec!['c']));
        let late = pool.arrives(&task("b"), with(false, 2, 0), 'b');
        assert_eq!(late, Arrival::Begins('b'));
        assert_eq!(pool.ended(true), Next::Begin(vec![]));
        // The third never comes, and whoever knows that does not wait for it.
        let next = pool.arrives(&task("d"), with(true, 3, 0), 'd');
        assert_eq!(next, Arrival::Waits);
        assert_eq!(pool.take(&task("d")), Some('d'));
        let next = pool.arrives(&task("d"), with(true, 3, 1), 'd');
        assert_eq!(next, Arrival::Begins('d'));
    }

    #[test]
    fn what_waits_can_be_taken_back() {
        let mut pool = full();
        assert_eq!(pool.take(&task("c")), Some('c'));
        assert_eq!(pool.take(&task("c")), None);
        assert_eq!(pool.ended(true), Next::Begin(vec!['d']));
        assert_eq!(pool.clear(), Vec::<char>::new());
    }
}
