//! The deployed goals of a workspace, about which its daemon decides nothing: it keeps their records up to date.

use super::{
    children::{ChildExit, ChildPurpose},
    daemon::Daemon,
    look::backoff_pause,
};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};

/// Finds the deployed goals; this daemon decides nothing about them.
pub(super) fn find_deployed(daemon: &mut Daemon<'_>) {
    // If that cannot be read, what it would start for them is refused.
    let rows = daemon.leadership.reader.goals().all().unwrap_or_default().into_iter();
    let deployed = rows.filter(|row| row.deployment.is_some()).map(|row| row.id);
    let previous = std::mem::take(&mut daemon.deployed);
    daemon.deployed = deployed
        .map(|goal| {
            let failures = previous.get(&goal).copied().unwrap_or_default();
            (goal, failures)
        })
        .collect();
}

/// Keeps a process for each deployed goal that records here what happens there; returns the times to try again.
pub(super) fn sync_deployed(daemon: &mut Daemon<'_>, now: Moment) -> Vec<Moment> {
    let mut later = Vec::new();
    for (goal, (failures, until)) in daemon.deployed.clone() {
        let purpose = ChildPurpose::Sync(goal.clone());
        // A single check does it once.
        if daemon.children.runs_for(&purpose) || daemon.options.once && failures > 0 {
            continue;
        }
        if until > now {
            later.push(until);
        } else if !daemon.spawn(purpose) {
            later.push(pause_sync(daemon, &goal));
        }
    }
    later
}

/// Records the exit of a process that records what happens to a deployed goal: it is started again, unless the goal was
/// recalled.
pub(super) fn record_sync_exit(daemon: &mut Daemon<'_>, exit: &ChildExit) {
    let ChildPurpose::Sync(goal) = &exit.purpose else { return };
    if exit.code != Some(0) || daemon.options.once {
        pause_sync(daemon, goal);
        return;
    }
    find_deployed(daemon);
    match daemon.deployed.get_mut(goal) {
        Some(pause) => *pause = (0, Moment::default()),
        None => daemon.agenda.add(goal.clone()),
    }
}

fn pause_sync(daemon: &mut Daemon<'_>, goal: &PlanId) -> Moment {
    let (count, _) = daemon.deployed.get(goal).copied().unwrap_or_default();
    let until = daemon.caller.host().now().after(backoff_pause(count + 1));
    daemon.deployed.insert(goal.clone(), (count + 1, until));
    until
}

/// True if a reconciliation is of a deployed goal.
pub(super) fn is_of_deployed(daemon: &Daemon<'_>, run: &RunId) -> bool {
    let cycle = daemon.leadership.reader.reconciliations().find(run).ok().flatten();
    cycle.is_some_and(|cycle| daemon.deployed.contains_key(&cycle.goal))
}
