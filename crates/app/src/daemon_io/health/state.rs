use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::time::Moment;

/// The health of the daemon, which updates it in a [`tokio::sync::watch`] channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DaemonHealth {
    /// The problem of the daemon itself, in one sentence; `None`: it is well.
    pub problem: Option<String>,
    /// The condition that it waits for before it looks at goals; `None`: it is ready.
    pub waiting: Option<String>,
    /// The start of the daemon.
    pub since: Moment,
    /// True if this daemon is the active one of several that share one state.
    pub leads: bool,
    /// The health of each goal, by its id.
    pub goals: BTreeMap<String, GoalHealth>,
    /// The number of scheduled times in the ledger by outcome: `started`, `skipped`, `missed`.
    pub slots: BTreeMap<String, u64>,
    /// The number of reconciliations in the ledger by outcome.
    pub cycles: BTreeMap<String, u64>,
    /// The number of reconciliations under way.
    pub running: u64,
}

/// The health of one goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GoalHealth {
    /// The next scheduled time; `None`: never, or not by itself.
    pub next: Option<Moment>,
    /// True if the goal passed its last check; `None`: it was never checked.
    pub holds: Option<bool>,
}

impl DaemonHealth {
    /// True if the daemon has no problem. Goals that fail are not its problem.
    pub fn is_well(&self) -> bool {
        self.problem.is_none()
    }

    /// True if the daemon does its work.
    pub fn is_ready(&self) -> bool {
        self.is_well() && self.waiting.is_none()
    }

    /// Returns the earliest next scheduled time of all goals.
    pub fn next(&self) -> Option<Moment> {
        self.goals.values().filter_map(|goal| goal.next).min()
    }
}
