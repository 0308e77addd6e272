use std::time::Duration;

use super::{
    children::{ChildExit, ChildPurpose, SpawnContext},
    daemon::Daemon,
    deployed,
    lines::prefix_with_goal,
    look::{DueReconciliation, backoff_pause},
};
use crate::{CommandError, goals::resumable_reconciliations};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
    untrusted::{BAD, paint},
};

/// The delay after the first failure to send a notification.
const FIRST_RETRY_DELAY: Duration = Duration::from_mins(1);

impl Daemon<'_> {
    /// Starts a reconciliation, unless it has started; returns the time to try again if it must wait.
    pub(super) fn start(&mut self, due: &DueReconciliation, now: Moment) -> Option<Moment> {
        let key = (due.goal.to_string(), due.slot);
        if let Some((_, until)) = self.failed_starts.get(&key)
            && *until > now
        {
            return Some(*until);
        }
        let purpose = ChildPurpose::Slot(due.clone());
        // Those without a free slot are examined when another one ends.
        let is_full = self.children.work_count() >= self.options.jobs;
        if self.children.runs_for(&purpose) || is_full || self.spawn(purpose) {
            return None;
        }
        Some(self.back_off(due))
    }

    /// Backs off from a scheduled time after a failure; returns the end of the pause.
    fn back_off(&mut self, due: &DueReconciliation) -> Moment {
        let key = (due.goal.to_string(), due.slot);
        let (count, _) = self.failed_starts.get(&key).copied().unwrap_or_default();
        let until = self.caller.host().now().after(backoff_pause(count + 1));
        self.failed_starts.insert(key, (count + 1, until));
        until
    }

    /// Starts a process; a failure to start it is reported, and is no reason to exit.
    pub(super) fn spawn(&mut self, purpose: ChildPurpose) -> bool {
        let goal = self.goal_of(&purpose);
        let context = SpawnContext {
            caller: self.caller,
            token: self.leadership.token,
            commit: self.goals.commit(),
            now: self.test_clock.as_ref().map(|_| self.caller.host().now()),
            follows: !self.options.once,
            goal: goal.as_deref(),
        };
        let started = self.children.start(&context, purpose);
        if let Err(error) = &started {
            self.report_failure(goal.as_deref(), error);
        }
        started.is_ok()
    }

    /// Returns the goal a process works for; `None`: it works for none, or for several.
    fn goal_of(&self, purpose: &ChildPurpose) -> Option<String> {
        match purpose {
            ChildPurpose::Slot(start) => Some(start.goal.to_string()),
            ChildPurpose::Adopt(run) => {
                let cycle = self.leadership.reader.reconciliations().find(run).ok().flatten();
                cycle.map(|cycle| cycle.goal.to_string())
            }
            ChildPurpose::Cancel(goal, _) => Some(goal.clone()),
            ChildPurpose::Sync(goal) => Some(goal.to_string()),
            ChildPurpose::Resume(_) | ChildPurpose::Notify => None,
        }
    }

    /// Reports a failure, of a goal if it concerns one.
    pub(super) fn report_failure(&self, goal: Option<&str>, error: &CommandError) {
        let text = self.caller.failure_text(error);
        self.caller.message(&goal.map_or(text.clone(), |goal| prefix_with_goal(goal, &text)));
    }

    /// Records the exit of a process.
    pub(super) fn record_exit(&mut self, exit: &ChildExit) {
        self.record_orphan(&exit.purpose);
        deployed::record_sync_exit(self, exit);
        let ChildPurpose::Slot(start) = &exit.purpose else {
            return;
        };
        let key = (start.goal.to_string(), start.slot);
        let still_due = PlanId::parse(&start.goal)
            .ok()
            .and_then(|id| {
                let state = self.leadership.reader.goals().ledger(&id).ok().flatten();
                self.agenda.add(id);
                state
            })
            .is_some_and(|state| state.open_slots.iter().any(|open| open.slot == start.slot));
        if still_due {
            self.back_off(start);
            let code = exit.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
            let (bad, slot) = (paint(BAD, "not started:"), start.slot.to_second());
            let line = format!("{bad} slot {slot} (exited with {code})");
            self.caller.message_line(&prefix_with_goal(&start.goal, &line));
        } else {
            self.failed_starts.remove(&key);
        }
    }

    /// Records a reconciliation left by an exited process.
    fn record_orphan(&mut self, purpose: &ChildPurpose) {
        // If that cannot be read, the next daemon resumes it.
        let live = self.leadership.reader.reconciliations().open().unwrap_or_default();
        let left = live.into_iter().find(|cycle| match purpose {
            ChildPurpose::Slot(start) => {
                *start.goal == *cycle.goal.as_str() && Some(start.slot) == cycle.slot
            }
            ChildPurpose::Adopt(run) => cycle.run == *run,
            ChildPurpose::Cancel(..)
            | ChildPurpose::Resume(_)
            | ChildPurpose::Notify
            | ChildPurpose::Sync(_) => false,
        });
        if let Some(cycle) = left {
            // The process that resumes it must be asked to exit anew.
            self.replaced.remove(&cycle.run);
            let (count, _) = self.orphans.get(&cycle.run).copied().unwrap_or_default();
            let until = self.caller.host().now().after(backoff_pause(count + 1));
            self.orphans.insert(cycle.run, (count + 1, until));
        } else if let ChildPurpose::Adopt(run) = purpose {
            self.orphans.remove(run);
        }
    }

    /// Resumes reconciliations of dead processes; returns the times to resume others.
    pub(super) fn resume_orphans(&mut self, now: Moment) -> Vec<Moment> {
        let mut later = Vec::new();
        for (run, (_, until)) in self.orphans.clone() {
            let purpose = ChildPurpose::Adopt(run);
            if self.children.runs_for(&purpose) {
                continue;
            }
            if until > now {
                later.push(until);
            } else if self.children.work_count() < self.options.jobs {
                self.spawn(purpose);
            }
        }
        later
    }

    /// Asks a reconciliation to exit: its process, or the engine working on its runs.
    pub(super) fn cancel(&mut self, goal: &str, run: &RunId) -> Result<(), CommandError> {
        let cycle = self.leadership.reader.reconciliations().find(run)?;
        let slot = cycle.as_ref().and_then(|cycle| cycle.slot);
        let is_it = |purpose: &ChildPurpose| match purpose {
            ChildPurpose::Slot(start) => &*start.goal == goal && Some(start.slot) == slot,
            _ => false,
        };
        if self.children.cancel(is_it) {
            return Ok(());
        }
        let last = cycle.and_then(|cycle| cycle.repair).unwrap_or_else(|| run.clone());
        let purpose = ChildPurpose::Cancel(goal.to_owned(), last);
        if !self.children.runs_for(&purpose) {
            self.spawn(purpose);
        }
        Ok(())
    }

    /// Resumes reconciliations left by other processes.
    pub(super) fn resume_abandoned(&mut self) -> Result<(), CommandError> {
        let mut live = self.leadership.reader.reconciliations().open()?;
        live.retain(|cycle| !self.deployed.contains_key(&cycle.goal));
        for cycle in live {
            self.resume_reconciliation(&cycle.run)?;
        }
        Ok(())
    }

    /// Resumes a reconciliation, unless a process here works on it.
    fn resume_reconciliation(&mut self, run: &RunId) -> Result<(), CommandError> {
        let purpose = ChildPurpose::Adopt(run.clone());
        if !self.children.runs_for(&purpose) && !self.works_on(run)? {
            self.spawn(purpose);
        }
        Ok(())
    }

    /// Resumes reconciliations whose pending approvals were answered or have expired; returns the
    /// time at which the next one expires.
    pub(super) fn resume_answered(&mut self, now: Moment) -> Option<Moment> {
        // If that cannot be read, it is read the next time.
        let (answered, over) = resumable_reconciliations(&self.leadership.reader, now).unwrap_or_default();
        for cycle in answered {
            if deployed::is_of_deployed(self, &cycle.run) {
                continue;
            }
            let before = self.answers_at_resume.insert(cycle.run.clone(), cycle.answers);
            if before != Some(cycle.answers)
                && let Err(error) = self.resume_reconciliation(&cycle.run)
            {
                self.report_failure(self.goal_of(&ChildPurpose::Adopt(cycle.run)).as_deref(), &error);
            }
        }
        over
    }

    /// Sends open notifications, in a process no reconciliation waits for; returns the time to try again.
    pub(super) fn send_notifications(&mut self, now: Moment) -> Option<Moment> {
        if self.children.runs_for(&ChildPurpose::Notify) {
            return None;
        }
        // If that cannot be read, it is read the next time.
        let open = self.leadership.reader.notifications().unsent().unwrap_or_default();
        let tries = open.iter().map(|notice| notice.tries).min()?;
        let until = self.notification_retry_at.filter(|_| tries > 0);
        if until.is_some_and(|until| until > now) {
            return until;
        }
        // A minute, then ever longer: an unreachable recipient is away for longer than a moment.
        let again = now.after(FIRST_RETRY_DELAY * 4u32.pow(tries.min(4)));
        self.notification_retry_at = Some(again);
        self.spawn(ChildPurpose::Notify);
        None
    }

    /// True if a process of this daemon works on a reconciliation.
    pub(super) fn works_on(&self, run: &RunId) -> Result<bool, CommandError> {
        let cycle = self.leadership.reader.reconciliations().find(run)?;
        Ok(cycle.is_some_and(|cycle| {
            self.children.any(|purpose| match purpose {
                ChildPurpose::Slot(start) => {
                    *start.goal == *cycle.goal.as_str() && Some(start.slot) == cycle.slot
                }
                _ => false,
            })
        }))
    }
}
