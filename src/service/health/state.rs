use std::collections::BTreeMap;

use serde::Serialize;

use crate::time::Moment;

/// How the daemon does. It holds this in a [`tokio::sync::watch`] channel and changes it there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// What is wrong with the daemon itself, in one sentence; `None`: it is well.
    pub problem: Option<String>,
    /// What it still waits for before it looks at goals; `None`: it is ready.
    pub waiting: Option<String>,
    /// When it began.
    pub since: Moment,
    /// Whether this daemon is the one that acts, where there are several for one state.
    pub leads: bool,
    /// Each goal by its id.
    pub goals: BTreeMap<String, GoalHealth>,
    /// How many slots became what, as far as the ledger reaches: `started`, `skipped`, `missed`.
    pub slots: BTreeMap<String, u64>,
    /// How many cycles ended how, as far as the ledger reaches.
    pub cycles: BTreeMap<String, u64>,
    /// How many cycles are under way.
    pub running: u64,
}

/// How it stands with one goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GoalHealth {
    /// When it is due next; `None`: never, or not by itself.
    pub next: Option<Moment>,
    /// Whether it held when it was last looked at; `None`: nobody has looked yet.
    pub holds: Option<bool>,
}

impl Health {
    /// Whether nothing is wrong with the daemon. Goals that do not hold are no fault of it.
    pub fn is_well(&self) -> bool {
        self.problem.is_none()
    }

    /// Whether it does its work.
    pub fn is_ready(&self) -> bool {
        self.is_well() && self.waiting.is_none()
    }

    /// The next slot of all goals.
    pub fn next(&self) -> Option<Moment> {
        self.goals.values().filter_map(|goal| goal.next).min()
    }
}
