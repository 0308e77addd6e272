//! The end of a run that nothing carries out any more.

use crate::machine::{
    state::{
        self, Run, TaskIx,
        fold::task_end::TaskCompletion,
        requests,
        task_phase::{ActivityKind, TaskActivity},
    },
    tasks::{cancel, finish, run_end},
    words::{Attempt, ChildEnd, ChildId, EventKind, WorkExit},
};

/// Ends, without effects, all that has not ended: nobody reports about what was under way.
pub(in crate::machine) fn terminate(run: &mut Run) {
    for step in 0..run.state().step_count() {
        if !run.state().step_record(step).is_over() {
            cancel::sweep_step(run, step, true);
        }
    }
    for (task, activity) in run.state().activities() {
        interrupt(run, task, activity);
    }
    requests::withdraw(run, None);
    run_end::end_run(run);
}

/// Ends a task whose activity was interrupted. None waits for people: the cancellation has withdrawn the requests of tasks.
fn interrupt(run: &mut Run, task: TaskIx, activity: TaskActivity) {
    let attempt = state::attempt(run.plan(), task, activity.attempt);
    interrupt_children(run, task, &attempt);
    if activity.doing == ActivityKind::Working {
        run.end_attempt(attempt, WorkExit::Interrupted);
    }
    finish::finish(run, task, TaskCompletion::cancelled(run.halting_reason()));
}

/// Ends the child runs that an agent waits for.
fn interrupt_children(run: &mut Run, task: TaskIx, attempt: &Attempt) {
    for child in run.open_children(task) {
        let id = ChildId { attempt: attempt.clone(), child };
        let end = ChildEnd::without_result(id, WorkExit::Interrupted);
        run.emit(EventKind::ChildEnded(Box::new(end)));
    }
}
