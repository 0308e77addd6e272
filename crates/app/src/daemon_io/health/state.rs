use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Caller, approve::standing_approval};
use wf_base::time::Moment;
use wf_core::goal::ReconciliationHealth;
use wf_model::{Goal, GoalApproval};
use wf_store::StoreReader;

/// The number of reconciliations among which the last one that ended is looked for.
const RECENT: usize = 20;

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
    /// True if the goal passed its last check; `None`: it was never checked, or nothing checks it now.
    pub holds: Option<bool>,
    /// The end of its last successful reconciliation.
    pub last_success: Option<Moment>,
    /// The end of its last reconciliation, and the result.
    pub last_end: Option<(Moment, ReconciliationHealth)>,
    /// The reason why it is not run any more, and since when; `None`: it is run.
    pub blocked: Option<GoalBlockage>,
    /// The end of its standing approval, if it has one.
    pub approval: Option<ApprovalRest>,
}

/// The state of a goal excluded from further runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GoalBlockage {
    /// The first refused scheduled time; `None`: none was yet.
    pub since: Option<Moment>,
    /// The reason, and the command against it.
    pub reason: String,
}

/// The rest of a standing approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ApprovalRest {
    pub expires: Moment,
    /// The number of repairs it still permits.
    pub repairs: u32,
}

impl GoalHealth {
    /// Reads what the ledger knows of a goal. What cannot be read is left out, as it is reported elsewhere.
    pub fn of(
        caller: &dyn Caller,
        goal: &Goal,
        reader: Option<&StoreReader>,
        next: Option<Moment>,
        blocked: Option<GoalBlockage>,
    ) -> Self {
        let cycles = reader.and_then(|reader| reader.reconciliations().latest(&goal.id, RECENT).ok());
        let last_end = cycles.into_iter().flatten().find_map(|cycle| cycle.ended);
        let last_end = last_end.map(|(at, health, _)| (at, health));
        let (host, now) = (caller.host(), caller.host().now());
        let approval = (goal.approval == GoalApproval::Standing)
            .then(|| standing_approval(&host.workspace(), &goal.id, &goal.path, now).ok()?.ok())
            .flatten()
            .filter(|approval| approval.withdrawn.is_none());
        Self {
            next,
            holds: last_end
                .filter(|_| blocked.is_none() && !goal.is_job)
                .and_then(|(_, health)| health.holds()),
            last_success: reader
                .and_then(|reader| reader.reconciliations().last_success(&goal.id).ok().flatten()),
            last_end,
            blocked,
            approval: approval.map(|approval| ApprovalRest {
                expires: approval.statement.expires,
                repairs: match approval.state(now) {
                    "holds" => approval.statement.executions.saturating_sub(approval.used),
                    _ => 0,
                },
            }),
        }
    }
}

impl DaemonHealth {
    /// True if the daemon has no problem. Goals that fail are not its problem.
    pub fn is_well(&self) -> bool {
        self.problem.is_none()
    }

    /// True if the daemon does its work, for every goal.
    pub fn is_ready(&self) -> bool {
        self.is_well() && self.waiting.is_none() && self.blocked().next().is_none()
    }

    /// Returns the goals excluded from further runs.
    pub fn blocked(&self) -> impl Iterator<Item = (&String, &GoalBlockage)> {
        self.goals.iter().filter_map(|(goal, health)| Some((goal, health.blocked.as_ref()?)))
    }

    /// Returns the earliest next scheduled time of all goals.
    pub fn next(&self) -> Option<Moment> {
        self.goals.values().filter_map(|goal| goal.next).min()
    }
}
