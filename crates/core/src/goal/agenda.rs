use std::collections::{BTreeMap, BTreeSet};

use super::DueActions;
use wf_base::time::Moment;

/// The schedule of goals to consider: waking up costs what is due, not the number of goals.
///
/// **Invariant:** considering only the goals of [`due`](Self::due) leads to the same decisions as
/// considering all: no other goal has anything to start, or a new scheduled time.
#[derive(Clone, Debug)]
pub struct GoalAgenda<K> {
    wakes: BTreeMap<K, Option<Moment>>,
    order: BTreeSet<(Moment, K)>,
    /// The goals considered at any time.
    always: BTreeSet<K>,
    /// The time of the last query for due goals.
    latest: Option<Moment>,
}

impl<K> Default for GoalAgenda<K> {
    fn default() -> Self {
        Self { wakes: BTreeMap::new(), order: BTreeSet::new(), always: BTreeSet::new(), latest: None }
    }
}

impl<K: Ord + Clone> GoalAgenda<K> {
    /// Makes a goal due the next time, whatever the time is.
    pub fn add(&mut self, goal: K) {
        self.wakes.entry(goal.clone()).or_default();
        self.always.insert(goal);
    }

    /// Returns the goals to consider now, in order; all of them after the clock was set back.
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

    /// Records the result of considering a goal.
    pub fn put(&mut self, goal: &K, due: &DueActions) {
        let before = self.wakes.insert(goal.clone(), due.wake).flatten();
        if before != due.wake {
            if let Some(wake) = before {
                self.order.remove(&(wake, goal.clone()));
            }
            if let Some(wake) = due.wake {
                self.order.insert((wake, goal.clone()));
            }
        }
        if due.is_open {
            self.always.insert(goal.clone());
        } else {
            self.always.remove(goal);
        }
    }

    pub fn remove(&mut self, goal: &K) {
        if let Some(Some(wake)) = self.wakes.remove(goal) {
            self.order.remove(&(wake, goal.clone()));
        }
        self.always.remove(goal);
    }

    /// Returns the time a goal is due next.
    pub fn wake_of(&self, goal: &K) -> Option<Moment> {
        self.wakes.get(goal).copied().flatten()
    }

    /// Returns the time the next goal is due.
    pub fn wake(&self) -> Option<Moment> {
        self.order.first().map(|(wake, _)| *wake)
    }
}
