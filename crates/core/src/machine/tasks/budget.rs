//! The enforcement of a run's budget (DESIGN section 3; Silas 5.2.1).
//!
//! A budget never cuts short running work, except when its time is over: it keeps new work from
//! beginning. Checks of finished work go on, and so do `finally` steps, out of a reserve for them.
//! **Invariant:** no attempt of a main step begins once a limit, less the reserve, is reached;
//! attempts of `finally` steps exceed a limit only where each is the first of its task.
//! **Invariant:** a resource is reported at most once at each threshold.

use crate::machine::{
    state::{
        Run, TaskIx, budget_limits, fold::task_end::TaskCompletion, in_flight::TaskRequest,
        parts::task_record::TaskRecord, requests,
    },
    tasks::{cancel, finish},
    words::{BudgetUsage, EventKind, RunPhase, Standing, TimerKind},
};
use wf_model::{BudgetResource, EngineFailure};

/// The parts of a limit that are reported, in percent.
const THRESHOLDS: [u32; 3] = [80, 90, 95];

/// The maximum number of extensions of the time limit, by a quarter each.
const MAX_EXTENSIONS: u64 = 4;

/// Records the budget of the plan, as the run begins.
pub(in crate::machine) fn set_budget(run: &mut Run) {
    if let Some(budget) = run.plan().parts().budget.clone() {
        run.emit(EventKind::BudgetSet(Box::new(budget)));
    }
}

/// True if the next attempt of a task may begin. If not, the budget is spent from now on.
pub(in crate::machine) fn affords(run: &mut Run, task: TaskIx) -> bool {
    if run.state().ledger.budget.is_none() {
        return true;
    }
    let last = run.plan().is_finally(task.ix());
    let first = run.state().task_record(task).is_none_or(|record| record.attempts() == 0);
    if last && first || !last && budget_limits::allows_attempt(run) {
        return true;
    }
    if !last && run.state().ledger.spent.is_some() {
        return false;
    }
    let Some(spent) = budget_limits::exhausted(run, !last) else {
        return true;
    };
    if !last && spent.resource == BudgetResource::WallTime && extend(run) {
        return affords(run, task);
    }
    if run.state().ledger.spent.is_none() {
        run.emit(EventKind::BudgetExhausted { spent, hard: false });
        end_waits(run);
    }
    false
}

/// Ends a task whose next attempt the budget does not allow. A `finally` step that cannot be
/// retried has failed: only a forced end cancels one.
pub(in crate::machine) fn skip_over_budget(run: &mut Run, task: TaskIx) {
    let tried = run.state().task_record(task).is_some_and(|record| record.attempts_of_round() > 0);
    let reason = budget_limits::unaffordable_reason(run);
    let tries = run.state().task_record(task).and_then(TaskRecord::history);
    let refuted = tries.is_some_and(|tries| !tries.failed.is_empty());
    let end = if tried && run.plan().is_finally(task.ix()) {
        let failure_class = Some(EngineFailure::Budget.class());
        let standing = if refuted { Standing::Refuted } else { Standing::Unchecked };
        TaskCompletion::failure(standing, failure_class, reason)
    } else if tried {
        TaskCompletion::cancelled(reason)
    } else {
        TaskCompletion::skipped(reason)
    };
    finish::finish(run, task, end);
}

/// Ends the main steps that wait between two attempts, for a lock, or for an approval before
/// they begin: their turn will not come.
fn end_waits(run: &mut Run) {
    let requests = run.state().activities().into_iter().filter(|(_, activity)| activity.is_asking_first());
    let [kept, given] = [true, false].map(|room| TaskRequest::Lock { room });
    let waits = [TaskRequest::Timer, kept, given].map(|request| run.flight.tasks_with(request));
    let waits = waits.into_iter().flatten();
    let mut tasks: Vec<TaskIx> = waits.chain(requests.map(|(task, _)| task)).collect();
    tasks.retain(|task| !run.plan().is_finally(task.ix()));
    for task in tasks {
        if !run.is_over(task) {
            requests::withdraw(run, Some(task));
            skip_over_budget(run, task);
        }
    }
}

/// Extends the time limit by a quarter, if the run made progress within the last quarter, up to
/// twice the limit. False if it did not.
fn extend(run: &mut Run) -> bool {
    let ledger = &run.state().ledger;
    let Some(budget) = ledger.budget.as_ref().filter(|budget| budget.progress) else {
        return false;
    };
    let (Some(own), Some(limit)) = (budget.max_wall_time_ms, ledger.limit(BudgetResource::WallTime)) else {
        return false;
    };
    let quarter = own.div_ceil(MAX_EXTENSIONS);
    let far = ledger.progress.is_none_or(|at| run.now().since(at) > millis(quarter));
    let most = own.saturating_mul(2);
    if far || limit >= most {
        return false;
    }
    let limit = limit.saturating_add(quarter).min(most);
    run.emit(EventKind::BudgetExtended { limit_ms: limit });
    budget_timer(run);
    true
}

/// Reports the thresholds that have been reached. Time is left to its timer, so that an input
/// that answers nothing changes nothing.
pub(in crate::machine) fn notice_budget(run: &mut Run) {
    if run.state().ledger.budget.is_none() || run.state().outcome().is_some() {
        return;
    }
    let others = BudgetResource::ALL.into_iter().filter(|resource| *resource != BudgetResource::WallTime);
    for resource in others {
        notice(run, resource);
    }
}

/// Reports the highest threshold that has been reached, if it was not reported yet. True if it
/// was reported now.
fn notice(run: &mut Run, resource: BudgetResource) -> bool {
    let ledger = &run.state().ledger;
    let Some(limit) = ledger.limit(resource).filter(|limit| *limit > 0) else {
        return false;
    };
    let used = ledger.used(resource, run.now());
    let known = ledger.noticed.get(&resource).copied().unwrap_or(0);
    let reached = |percent: &u32| u128::from(used) * 100 >= u128::from(limit) * u128::from(*percent);
    let highest = THRESHOLDS.into_iter().rfind(reached);
    let Some(percent) = highest.filter(|percent| *percent > known) else {
        return false;
    };
    let spent = BudgetUsage { resource, used, limit };
    run.emit(EventKind::BudgetThresholdReached { spent, percent });
    true
}

/// Returns the next time threshold, or the whole limit: in milliseconds from the beginning.
fn next_mark(run: &Run) -> Option<u64> {
    let resource = BudgetResource::WallTime;
    let ledger = &run.state().ledger;
    let limit = ledger.limit(resource)?;
    if run.state().phase() >= RunPhase::Finally || run.state().is_ending() {
        return None;
    }
    let known = ledger.noticed.get(&resource).copied().unwrap_or(0);
    let next = THRESHOLDS.into_iter().find(|percent| *percent > known);
    let part = |percent| (u128::from(limit) * u128::from(percent)).div_ceil(100);
    let mark = next.map(|percent| u64::try_from(part(percent)).unwrap_or(limit));
    Some(mark.unwrap_or(limit))
}

pub(in crate::machine) fn budget_timer(run: &mut Run) {
    if let (Some(ms), Some(since)) = (next_mark(run), run.state().ledger.since) {
        run.set_timer(TimerKind::Budget { ms }, since.after(millis(ms)));
    }
}

/// Applies the passing of time to the budget. A timer set before the limit was extended has no
/// effect any more.
pub(in crate::machine) fn on_budget_timer(run: &mut Run, ms: u64) {
    let resource = BudgetResource::WallTime;
    let used = run.state().ledger.used(resource, run.now());
    let limit = run.state().ledger.limit(resource);
    let Some(limit) = limit.filter(|_| next_mark(run) == Some(ms) && used >= ms) else {
        return;
    };
    if used < limit {
        notice(run, resource);
        budget_timer(run);
    } else if run.state().ledger.spent.is_some() || !extend(run) {
        let spent = BudgetUsage { resource, used, limit };
        run.emit(EventKind::BudgetExhausted { spent, hard: true });
        cancel::sweep(run);
    }
}

fn millis(duration_ms: u64) -> std::time::Duration {
    std::time::Duration::from_millis(duration_ms)
}
