//! The effect of a failure, a cancellation or a timeout on everything that has not ended.

use crate::machine::{
    state::{
        self, Run, TaskIx,
        fold::task_end::TaskCompletion,
        follow_up::FollowUp,
        in_flight::TaskRequest,
        requests,
        task_phase::{ActivityKind, TaskActivity},
    },
    tasks::finish,
    words::{AgentExit, Attempt, Effect, EventKind, RunPhase, WorkExit},
};
use wf_model::{OnStepFailure, StepWork, WaitCondition};

/// Lets the failure of a step stop or cancel the others, as the policy says. A round ends when
/// everything that can run has run, whatever the policy says: its measurement must not depend
/// on concurrency (artoo v0.8, R4b).
pub(in crate::machine) fn stop_others(run: &mut Run, task: TaskIx) {
    let policy = run.plan().parts().policy.on_failure;
    if policy == OnStepFailure::Continue
        || run.plan().parts().replan.is_some()
        || run.state().is_stopping()
        || run.plan().is_finally(task.ix())
    {
        return;
    }
    let step = run.plan().step(task.ix()).id.clone();
    run.emit(EventKind::RunDraining { step });
    sweep(run);
}

/// Ends every main step that may not begin any more, and running work if it must end.
pub(in crate::machine) fn sweep(run: &mut Run) {
    let ending = run.state().is_ending();
    let forced = run.state().is_force_cancelled();
    if forced || run.state().never_began() {
        sweep_finally(run);
    }
    if run.state().never_began() {
        requests::withdraw(run, None);
    }
    let killing = ending || run.plan().parts().policy.on_failure == OnStepFailure::Cancel;
    for step in run.main_steps() {
        let over = run.state().step_record(step).is_over();
        let all = ending || run.state().gates.is_blocked();
        if !over && (all || !run.asks_status(step)) {
            sweep_step(run, step, killing);
        }
    }
    if killing {
        kill_live(run);
    }
}

/// Ends the tasks of a step with nothing running; with `resting`, also those between two
/// attempts.
pub(in crate::machine) fn sweep_step(run: &mut Run, step: u32, resting: bool) {
    let places: Vec<TaskIx> = match run.state().step_record(step).items() {
        None => vec![TaskIx { step, item: None }],
        Some(many) => (0..u32::try_from(many.records.len()).unwrap_or(u32::MAX))
            .map(|item| TaskIx { step, item: Some(item) })
            .collect(),
    };
    let end = if run.state().is_ending() {
        TaskCompletion::cancelled(run.ending_reason())
    } else if let Some(reason) = run.state().gates.block_reason() {
        TaskCompletion::skipped(reason)
    } else {
        TaskCompletion::skipped(run.stopping_reason())
    };
    for task in places {
        let activity = run.state().activity(task);
        let is_asking = activity.is_some_and(TaskActivity::is_asking_first);
        let works = activity.is_some() && !is_asking;
        let tried = (run.state().task_record(task)).is_some_and(|record| record.attempts_of_round() > 0);
        if run.is_over(task) || works || tried && !resting {
            continue;
        }
        if is_asking {
            requests::withdraw(run, Some(task));
        }
        let end = if tried { TaskCompletion::cancelled(run.halting_reason()) } else { end.clone() };
        finish::finish(run, task, end);
    }
}

/// Ends the `finally` steps that have not begun, when the end is forced.
fn sweep_finally(run: &mut Run) {
    if matches!(run.state().phase(), RunPhase::Finally | RunPhase::Gates) {
        for step in run.main_steps().end..run.state().step_count() {
            if !run.state().step_record(step).is_over() {
                sweep_step(run, step, true);
            }
        }
    }
}

/// Ends running work that may not go on.
pub(in crate::machine) fn kill_live(run: &mut Run) {
    let ending = run.state().is_ending();
    let gated = matches!(run.state().phase(), RunPhase::Gates | RunPhase::Publish);
    let checked = run.state().phase() == RunPhase::Verify && run.state().proof.judged().is_none();
    if ending && (checked || gated || run.is_planning()) {
        let force = run.state().is_force_cancelled();
        run.push_effect(Effect::Kill { attempt: None, force });
    }
    for (task, activity) in run.state().activities() {
        run.then(FollowUp::HaltTask { task, activity });
    }
}

/// Ends the work of a task, if it may not go on. One that waits for its lock after a resume goes on without it
/// first.
pub(in crate::machine) fn halt_task(run: &mut Run, task: TaskIx, activity: TaskActivity) {
    if !run.is_halting(task) {
        return;
    }
    if let Some(approved) = withdraw_return(run, task) {
        run.then(FollowUp::ResumeActivity { task, approved });
    }
    run.then(FollowUp::StopWork { task, activity });
}

/// Ends the activity of a task that is halted.
pub(in crate::machine) fn stop_work(run: &mut Run, task: TaskIx, activity: TaskActivity) {
    let attempt = state::attempt(run.plan(), task, activity.attempt);
    let timed = matches!(
        run.plan().step(task.ix()).work,
        StepWork::Wait(WaitCondition::For(_) | WaitCondition::Until(_))
    );
    match activity.doing {
        ActivityKind::Working if timed => run.end_attempt(attempt, WorkExit::Cancelled),
        ActivityKind::Asking if run.asks_about_agent(task) => {
            // The agent is briefed again, to end as any other.
            requests::withdraw(run, Some(task));
            // Recorded now: the engine may stop the briefing before the agent is there to end.
            if run.agent_record(task).is_some_and(|record| record.exit.is_none()) {
                let (attempt, exit) = (attempt.clone(), WorkExit::Cancelled);
                run.emit(EventKind::AgentEnded(AgentExit { attempt, exit, answer: None }));
            }
            if !run.flight.is_returning(task) {
                run.then(FollowUp::ResumeActivity { task, approved: false });
            }
            return run.then(FollowUp::KillWork { task, activity });
        }
        ActivityKind::Asking => cancel_ask(run, task, attempt),
        _ => return kill_work(run, task, activity),
    }
    finish::finish(run, task, TaskCompletion::cancelled(run.halting_reason()));
}

/// Tells the work of a task to end. An agent that waits for child runs ends with these: nothing else answers its call. A
/// merge ends in its turn, with the files either written or not.
pub(in crate::machine) fn kill_work(run: &mut Run, task: TaskIx, activity: TaskActivity) {
    let attempt = state::attempt(run.plan(), task, activity.attempt);
    if run.flight.is_collecting(task) {
        run.then(FollowUp::EndAgent { attempt, exit: WorkExit::Cancelled });
    } else if activity.doing != ActivityKind::Merging {
        let force = run.state().is_force_cancelled();
        run.push_effect(Effect::Kill { attempt: Some(attempt), force });
    }
}

/// Withdraws the locks that a task was to have again after a resume. Returns if it was approved meanwhile; `None`: it
/// does not wait for any.
pub(in crate::machine) fn withdraw_return(run: &mut Run, task: TaskIx) -> Option<bool> {
    let TaskRequest::Return { approved } = run.flight.request(task)? else { return None };
    run.flight.set(task, None);
    let task_id = state::task_id(run.plan(), task);
    run.push_effect(Effect::Unlock { task_id });
    Some(approved)
}

/// Withdraws the request that an attempt waits for, and ends the attempt if the request is its work.
fn cancel_ask(run: &mut Run, task: TaskIx, attempt: Attempt) {
    requests::withdraw(run, Some(task));
    let decides = matches!(run.plan().step(task.ix()).work, StepWork::Approve(_));
    let asked_after = run.state().task_record(task).is_some_and(|record| record.result().is_some());
    if decides && attempt.attempt > 0 && !asked_after {
        run.end_attempt(attempt, WorkExit::Cancelled);
    }
}

pub(in crate::machine) fn cancel(run: &mut Run, reason: String) {
    if !run.has_begun() {
        return;
    }
    let force = run.state().cancellation().is_some();
    run.emit(EventKind::CancelRequested { reason, force });
    sweep(run);
}
