use std::collections::{BTreeMap, BTreeSet};

use super::Turn;
use crate::time::Moment;

/// When goals are to be looked at next: waking up costs what is due, not how many goals there are.
///
/// **Invariant:** whoever looks at [`due`](Self::due) alone decides what somebody would who looked at
/// all: of any other goal nothing is to begin, and none of its slots has come since.
#[derive(Clone, Debug)]
pub struct Agenda<K> {
    wakes: BTreeMap<K, Option<Moment>>,
    order: BTreeSet<(Moment, K)>,
    /// Those that are looked at whatever the time.
    always: BTreeSet<K>,
    /// When it was last asked what is due.
    latest: Option<Moment>,
}

impl<K> Default for Agenda<K> {
    fn default() -> Self {
        Self {
            wakes: BTreeMap::new(),
            order: BTreeSet::new(),
            always: BTreeSet::new(),
            latest: None,
        }
    }
}

impl<K: Ord + Clone> Agenda<K> {
    /// Lets a goal be looked at the next time, whatever the time is.
    pub fn add(&mut self, goal: K) {
        self.wakes.entry(goal.clone()).or_default();
        self.always.insert(goal);
    }

    /// The goals that are to be looked at now, in order. All of them are once the clock was set back.
    pub fn due(&mut self, now: Moment) -> Vec<K> {
        let is_set_back = self.latest.is_some_and(|latest| now < latest);
        self.latest = Some(now);
        if is_set_back {
            return self.wakes.keys().cloned().collect();
        }
        let due = self.order.iter().take_while(|(wake, _)| *wake <= now);
        let mut due: Vec<K> = due.map(|(_, goal)| goal.clone()).collect();
        due.extend(self.always.iter().cloned());
        due.sort_unstable();
        due.dedup();
        due
    }

    /// Takes note of a look at a goal.
    pub fn put(&mut self, goal: &K, turn: &Turn) {
        let before = self.wakes.insert(goal.clone(), turn.wake).flatten();
        if before != turn.wake {
            if let Some(wake) = before {
                self.order.remove(&(wake, goal.clone()));
            }
            if let Some(wake) = turn.wake {
                self.order.insert((wake, goal.clone()));
            }
        }
        if turn.is_open {
            self.always.insert(goal.clone());
        } else {
            self.always.remove(goal);
        }
    }

    /// Forgets a goal.
    pub fn remove(&mut self, goal: &K) {
        if let Some(Some(wake)) = self.wakes.remove(goal) {
            self.order.remove(&(wake, goal.clone()));
        }
        self.always.remove(goal);
    }

    /// When a goal is due next.
    pub fn wake_of(&self, goal: &K) -> Option<Moment> {
        self.wakes.get(goal).copied().flatten()
    }

    /// When the next goal is due.
    pub fn wake(&self) -> Option<Moment> {
        self.order.first().map(|(wake, _)| *wake)
    }
}
