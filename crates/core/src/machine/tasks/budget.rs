//! The enforcement of a run's budget (DESIGN section 3; Silas 5.2.1).
//!
//! A budget never cuts short running work, except when its time is over: it keeps new work from
//! beginning. Checks of finished work go on, and so do `finally` steps, out of a reserve for them.
//! **Invariant:** no attempt of a main step begins once a limit, less the reserve, is reached;
//! attempts of `finally` steps exceed a limit only where each is the first of its task.
//! **Invariant:** a resource is reported at most once at each threshold.

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::{Run, TaskIx};
use crate::machine::words::{BudgetUsage, EventKind, RunPhase, Standing, TimerKind};
use wf_model::{BudgetResource, EngineFailure};

/// The parts of a limit that are reported, in percent.
const THRESHOLDS: [u32; 3] = [80, 90, 95];

/// The maximum number of extensions of the time limit, by a quarter each.
const MAX_EXTENSIONS: u64 = 4;

impl Run {
    /// Records the budget of the plan, as the run begins.
    pub(in crate::machine) fn set_budget(&mut self) {
        if let Some(budget) = self.plan.parts().budget.clone() {
            self.emit(EventKind::BudgetSet(Box::new(budget)));
        }
    }

    /// True if the next attempt of a task may begin. If not, the budget is spent from now on.
    pub(in crate::machine) fn affords(&mut self, task: TaskIx) -> bool {
        if self.state.ledger.budget.is_none() {
            return true;
        }
        let last = self.plan.is_finally(task.ix());
        let first = self.state.task_record(task).is_none_or(|record| record.attempts == 0);
        if last && first || !last && self.budget_allows_attempt() {
            return true;
        }
        if !last && self.state.ledger.spent.is_some() {
            return false;
        }
        let Some(spent) = self.exhausted(!last) else {
            return true;
        };
        if !last && spent.resource == BudgetResource::WallTime && self.extend() {
            return self.affords(task);
        }
        if self.state.ledger.spent.is_none() {
            self.emit(EventKind::BudgetExhausted { spent, hard: false });
            self.end_waits();
        }
        false
    }

    /// Ends a task whose next attempt the budget does not allow. A `finally` step that cannot be
    /// retried has failed: only a forced end cancels one.
    pub(in crate::machine) fn skip_over_budget(&mut self, task: TaskIx) {
        let tried = self.state.task_record(task).is_some_and(|record| record.attempts_of_round() > 0);
        let reason = self.unaffordable_reason();
        let tries = self.state.task_record(task).and_then(|record| record.tries.as_ref());
        let refuted = tries.is_some_and(|tries| !tries.failed.is_empty());
        let end = if tried && self.plan.is_finally(task.ix()) {
            let failure_class = Some(EngineFailure::Budget.class());
            let standing = if refuted { Standing::Refuted } else { Standing::Unchecked };
            TaskCompletion::failure(standing, failure_class, reason)
        } else if tried {
            TaskCompletion::cancelled(reason)
        } else {
            TaskCompletion::skipped(reason)
        };
        self.finish(task, end);
    }

    /// Ends the main steps that wait between two attempts, for a lock, or for an approval before
    /// they begin: their turn will not come.
    fn end_waits(&mut self) {
        let requests = self.state.activities().into_iter().filter(|(_, activity)| activity.is_asking_first());
        let [kept, given] = [true, false].map(|room| TaskRequest::Lock { room });
        let waits = [TaskRequest::Timer, kept, given].map(|request| self.flight.tasks_with(request));
        let waits = waits.into_iter().flatten();
        let mut tasks: Vec<TaskIx> = waits.chain(requests.map(|(task, _)| task)).collect();
        tasks.retain(|task| !self.plan.is_finally(task.ix()));
        for task in tasks {
            if !self.is_over(task) {
                self.withdraw(Some(task));
                self.skip_over_budget(task);
            }
        }
    }

    /// Extends the time limit by a quarter, if the run made progress within the last quarter, up to
    /// twice the limit. False if it did not.
    fn extend(&mut self) -> bool {
        let ledger = &self.state.ledger;
        let Some(budget) = ledger.budget.as_ref().filter(|budget| budget.progress) else {
            return false;
        };
        let (Some(own), Some(limit)) = (budget.max_wall_time_ms, ledger.limit(BudgetResource::WallTime))
        else {
            return false;
        };
        let quarter = own.div_ceil(MAX_EXTENSIONS);
        let far = ledger.progress.is_none_or(|at| self.now.since(at) > millis(quarter));
        let most = own.saturating_mul(2);
        if far || limit >= most {
            return false;
        }
        let limit = limit.saturating_add(quarter).min(most);
        self.emit(EventKind::BudgetExtended { limit_ms: limit });
        self.budget_timer();
        true
    }

    /// Reports the thresholds that have been reached. Time is left to its timer, so that an input
    /// that answers nothing changes nothing.
    pub(in crate::machine) fn notice_budget(&mut self) {
        if self.state.ledger.budget.is_none() || self.state.outcome.is_some() {
            return;
        }
        let others = BudgetResource::ALL.into_iter().filter(|resource| *resource != BudgetResource::WallTime);
        for resource in others {
            self.notice(resource);
        }
    }

    /// Reports the highest threshold that has been reached, if it was not reported yet. True if it
    /// was reported now.
    fn notice(&mut self, resource: BudgetResource) -> bool {
        let ledger = &self.state.ledger;
        let Some(limit) = ledger.limit(resource).filter(|limit| *limit > 0) else {
            return false;
        };
        let used = ledger.used(resource, self.now);
        let known = ledger.noticed.get(&resource).copied().unwrap_or(0);
        let reached = |percent: &u32| u128::from(used) * 100 >= u128::from(limit) * u128::from(*percent);
        let highest = THRESHOLDS.into_iter().rfind(reached);
        let Some(percent) = highest.filter(|percent| *percent > known) else {
            return false;
        };
        let spent = BudgetUsage { resource, used, limit };
        self.emit(EventKind::BudgetThresholdReached { spent, percent });
        true
    }

    /// Returns the next time threshold, or the whole limit: in milliseconds from the beginning.
    fn next_mark(&self) -> Option<u64> {
        let resource = BudgetResource::WallTime;
        let ledger = &self.state.ledger;
        let limit = ledger.limit(resource)?;
        if self.state.phase >= RunPhase::Finally || self.state.is_ending() {
            return None;
        }
        let known = ledger.noticed.get(&resource).copied().unwrap_or(0);
        let next = THRESHOLDS.into_iter().find(|percent| *percent > known);
        let part = |percent| (u128::from(limit) * u128::from(percent)).div_ceil(100);
        let mark = next.map(|percent| u64::try_from(part(percent)).unwrap_or(limit));
        Some(mark.unwrap_or(limit))
    }

    pub(in crate::machine) fn budget_timer(&mut self) {
        if let (Some(ms), Some(since)) = (self.next_mark(), self.state.ledger.since) {
            self.set_timer(TimerKind::Budget { ms }, since.after(millis(ms)));
        }
    }

    /// Applies the passing of time to the budget. A timer set before the limit was extended has no
    /// effect any more.
    pub(in crate::machine) fn on_budget_timer(&mut self, ms: u64) {
        let resource = BudgetResource::WallTime;
        let used = self.state.ledger.used(resource, self.now);
        let limit = self.state.ledger.limit(resource);
        let Some(limit) = limit.filter(|_| self.next_mark() == Some(ms) && used >= ms) else {
            return;
        };
        if used < limit {
            self.notice(resource);
            self.budget_timer();
        } else if self.state.ledger.spent.is_some() || !self.extend() {
            let spent = BudgetUsage { resource, used, limit };
            self.emit(EventKind::BudgetExhausted { spent, hard: true });
            self.sweep();
        }
    }
}

fn millis(duration_ms: u64) -> std::time::Duration {
    std::time::Duration::from_millis(duration_ms)
}
