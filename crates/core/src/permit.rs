//! Permits: how many steps of all runs of a workspace execute at once, and whose turn is next.
//!
//! A step has a permit while its process, its request, a call of its model or of a tool, or its checks execute. It has none
//! while it waits: for a nested run, a person, a timer or a lock. So who has a permit waits for nobody who needs one, and
//! gives it back.
//!
//! A [`PermitQueue`] is who has one and who waits; [`PermitQueue::next`] chooses, and [`PermitQueue::admit`] says how the
//! others stand then. The sessions take turns, and so do the outermost runs of a session: who was served goes to the end.
//! Runs a person began come before those of schedules, except for every fourth permit.
//!
//! **Invariant:** the same queue gives the same choice. If somebody waits whom no limit keeps back, somebody is chosen.
//! **Invariant:** while a session waits and no limit keeps it back, no other one of its lane is served twice before it;
//! likewise the runs of one session.

use wf_base::{
    keywords,
    name::{RunId, SessionName},
};

#[cfg(test)]
mod tests;

/// The number of steps that execute at once in a workspace. An absent limit is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParallelLimits {
    /// Of all runs.
    pub in_workspace: Option<u32>,
    /// Of the runs of one session, or of one outermost run without a session.
    pub in_session: Option<u32>,
    /// Of one outermost run, with those nested in it.
    pub in_run: Option<u32>,
}

keywords! {
    /// A limit, as `wf.yaml` names it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ParallelLimit {
        /// That of the workspace.
        Workspace = "max_parallel",
        /// That of each session.
        Session = "max_parallel_per_session",
        /// That of each outermost run.
        Run = "max_parallel_per_run",
    }
}

impl ParallelLimits {
    /// True if nothing is limited.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub fn value(&self, limit: ParallelLimit) -> Option<u32> {
        match limit {
            ParallelLimit::Workspace => self.in_workspace,
            ParallelLimit::Session => self.in_session,
            ParallelLimit::Run => self.in_run,
        }
    }
}

/// The permits after which one is for the runs of schedules, if they wait.
pub const SCHEDULED_SHARE: u32 = 3;

/// The class of a run among those waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitLane {
    /// A person began it.
    Interactive,
    /// The schedule of a goal began it.
    Scheduled,
}

/// The run a permit is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitOwner {
    /// The outermost run.
    pub run: RunId,
    pub session: Option<SessionName>,
    pub lane: PermitLane,
}

/// A step waiting for a permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitWait {
    /// Its run.
    pub owner: PermitOwner,
    /// The position of its run among those of its session: the least is first.
    pub run_turn: u64,
    /// The position of its session.
    pub session_turn: u64,
    /// The permits the other lane got while it waited, since its own lane got one.
    pub passed: u32,
}

/// The permits of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermitQueue {
    pub limits: ParallelLimits,
    /// The owners of the permits given.
    pub owners: Vec<PermitOwner>,
    /// The steps waiting, in the order in which they came.
    pub waits: Vec<PermitWait>,
}

impl PermitOwner {
    /// True if both are of one session; a run without one is alone.
    fn shares_session(&self, other: &Self) -> bool {
        self.run == other.run || self.session.is_some() && self.session == other.session
    }
}

impl PermitQueue {
    /// Returns a wait at the end of the queue.
    pub fn wait_of(&self, owner: PermitOwner) -> PermitWait {
        let end = self.end();
        PermitWait { owner, run_turn: end, session_turn: end, passed: 0 }
    }

    /// Returns the position of the wait that gets the next permit; `None` if the limits keep all of them back.
    pub fn next(&self) -> Option<usize> {
        let free: Vec<(usize, &PermitWait)> =
            self.waits.iter().enumerate().filter(|(_, wait)| self.limit_on(&wait.owner).is_none()).collect();
        let is_due =
            |wait: &PermitWait| wait.owner.lane == PermitLane::Scheduled && wait.passed >= SCHEDULED_SHARE;
        let share = free.iter().any(|(_, wait)| is_due(wait));
        let first = if share { PermitLane::Scheduled } else { PermitLane::Interactive };
        let order = |&&(position, wait): &&(usize, &PermitWait)| {
            (wait.owner.lane != first, wait.session_turn, wait.run_turn, position)
        };
        free.iter().min_by_key(order).map(|(position, _)| *position)
    }

    /// Gives a permit to a wait. Its session, and its run, go to the end of their lane.
    pub fn admit(&mut self, position: usize) {
        let end = self.end();
        let owner = self.waits.remove(position).owner;
        let is_kept_back: Vec<bool> =
            self.waits.iter().map(|wait| self.limit_on(&wait.owner).is_some()).collect();
        for (wait, is_kept_back) in self.waits.iter_mut().zip(is_kept_back) {
            if wait.owner.lane != owner.lane {
                wait.passed = wait.passed.saturating_add(u32::from(!is_kept_back));
                continue;
            }
            wait.passed = 0;
            if wait.owner.shares_session(&owner) {
                wait.session_turn = end;
            }
            if wait.owner.run == owner.run {
                wait.run_turn = end;
            }
        }
        self.owners.push(owner);
    }

    /// Returns the limit keeping an owner back.
    pub fn limit_on(&self, owner: &PermitOwner) -> Option<ParallelLimit> {
        let count =
            |counts: &dyn Fn(&PermitOwner) -> bool| self.owners.iter().filter(|held| counts(held)).count();
        let is_full = |limit: ParallelLimit, held: usize| {
            self.limits.value(limit).is_some_and(|most| held >= most as usize)
        };
        let of_run = count(&|held| held.run == owner.run);
        let of_session = count(&|held| held.shares_session(owner));
        [
            (ParallelLimit::Workspace, self.owners.len()),
            (ParallelLimit::Session, of_session),
            (ParallelLimit::Run, of_run),
        ]
        .into_iter()
        .find_map(|(limit, held)| is_full(limit, held).then_some(limit))
    }

    fn end(&self) -> u64 {
        let last = self.waits.iter().map(|wait| wait.run_turn.max(wait.session_turn)).max();
        last.map_or(0, |last| last.saturating_add(1))
    }
}
