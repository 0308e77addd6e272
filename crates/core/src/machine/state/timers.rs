//! The timers of tasks and of the run, and the instants at which they go off.

use crate::machine::{
    state::{self, Run, TaskIx, parts::task_record::TaskRecord},
    words::{TimerKind, WorkExit},
};
use wf_base::time::Moment;
use wf_model::{StepWork, WaitCondition};

/// Sets the timer that ends the wait of a task for its turn when it takes too long.
pub(in crate::machine) fn set_queue_timer(run: &mut Run, task: TaskIx) {
    if let Some(at) = queue_limit(run, task) {
        run.set_timer(TimerKind::Queue(state::task_id(run.plan(), task)), at);
    }
}

/// Sets the timer anew for a task let in: the one before may have gone off meanwhile, when it waited for
/// no turn.
pub(in crate::machine) fn renew_queue_timer(run: &mut Run, task: TaskIx) {
    if run.state().is_untried(task) {
        set_queue_timer(run, task);
    }
}

/// Returns the limit of a task's wait for its turn. The time of its gates, and of people
/// asked before it, does not count.
pub(in crate::machine) fn queue_limit(run: &Run, task: TaskIx) -> Option<Moment> {
    let limit = run.plan().step(task.ix()).queue_timeout?;
    let ready = run.state().step_record(task.step).ready?;
    let let_in = run.state().task_record(task).and_then(TaskRecord::let_in);
    Some(let_in.map_or(ready, |at| at.max(ready)).after(limit))
}

/// Returns the limit of the run's time.
pub(in crate::machine) fn run_limit(run: &Run) -> Option<Moment> {
    Some(run.state().started?.after(run.plan().parts().timeout?))
}

/// Returns the instant at which a timed wait that began at the given instant is over, and its exit;
/// `None` for all other work. A wait never outlasts its timeout, however late it is looked at.
pub(in crate::machine) fn wait_end(
    work: &StepWork,
    timeout: Option<std::time::Duration>,
    since: Moment,
) -> Option<(Moment, WorkExit)> {
    let over = match work {
        StepWork::Wait(WaitCondition::For(while_)) => since.after(*while_),
        StepWork::Wait(WaitCondition::Until(at)) => (*at).max(since),
        _ => return None,
    };
    match timeout.map(|limit| since.after(limit)) {
        Some(limit) if limit < over => Some((limit, WorkExit::TimedOut)),
        _ => Some((over, WorkExit::Completed)),
    }
}
