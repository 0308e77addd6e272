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

impl Daemon<'_> {
    /// Finds the deployed goals; this daemon decides nothing about them.
    pub(super) fn find_deployed(&mut self) {
        // If that cannot be read, what it would start for them is refused.
        let rows = self.leadership.reader.goals().all().unwrap_or_default().into_iter();
        let deployed = rows.filter(|row| row.deployment.is_some()).map(|row| row.id);
        let previous = std::mem::take(&mut self.deployed);
        self.deployed = deployed
            .map(|goal| {
                let failures = previous.get(&goal).copied().unwrap_or_default();
                (goal, failures)
            })
            .collect();
    }

    /// Keeps a process for each deployed goal that records here what happens there; returns the times to try again.
    pub(super) fn sync_deployed(&mut self, now: Moment) -> Vec<Moment> {
        let mut later = Vec::new();
        for (goal, (failures, until)) in self.deployed.clone() {
            let purpose = ChildPurpose::Sync(goal.clone());
            // A single check does it once.
            if self.children.runs_for(&purpose) || self.options.once && failures > 0 {
                continue;
            }
            if until > now {
                later.push(until);
            } else if !self.spawn(purpose) {
                later.push(self.pause_sync(&goal));
            }
        }
        later
    }

    /// Records the exit of a process that records what happens to a deployed goal: it is started again, unless the goal was
    /// recalled.
    pub(super) fn record_sync_exit(&mut self, exit: &ChildExit) {
        let ChildPurpose::Sync(goal) = &exit.purpose else { return };
        if exit.code != Some(0) || self.options.once {
            self.pause_sync(goal);
            return;
        }
        self.find_deployed();
        match self.deployed.get_mut(goal) {
            Some(pause) => *pause = (0, Moment::default()),
            None => self.agenda.add(goal.clone()),
        }
    }

    fn pause_sync(&mut self, goal: &PlanId) -> Moment {
        let (count, _) = self.deployed.get(goal).copied().unwrap_or_default();
        let until = self.caller.host().now().after(backoff_pause(count + 1));
        self.deployed.insert(goal.clone(), (count + 1, until));
        until
    }

    /// True if a reconciliation is of a deployed goal.
    pub(super) fn is_of_deployed(&self, run: &RunId) -> bool {
        let cycle = self.leadership.reader.reconciliations().find(run).ok().flatten();
        cycle.is_some_and(|cycle| self.deployed.contains_key(&cycle.goal))
    }
}
