//! The resume after a replay: everything in flight is asked for again.

use crate::machine::{
    state::{
        self, Run, TaskIx, feedback,
        follow_up::FollowUp,
        in_flight::TaskRequest,
        parts::task_record::TaskRecord,
        requests,
        scope::{self, TaskScope},
        task_phase::TaskPhase,
        timers,
    },
    tasks::{advance, timeouts},
    words::{ApprovalRequest, Attempt, Effect, GatePoint, RunPhase, TaskLocks, TimerKind},
};
use wf_base::time::Moment;
use wf_model::LockBusyPolicy;

/// Asks again for everything waited for, after a resume.
pub(in crate::machine) fn resume_asks(run: &mut Run) {
    let asks: Vec<ApprovalRequest> = run.state().open_requests().cloned().collect();
    for ask in asks {
        requests::wait_for(run, ask);
    }
    let point = match run.state().phase() {
        RunPhase::Gates => GatePoint::Start,
        RunPhase::Publish => GatePoint::Publish,
        _ => return,
    };
    let gates = &run.state().gates;
    if gates.requests_of(None).next().is_some() || gates.is_blocked() {
        return;
    }
    if !run.state().is_ending() {
        let task = None;
        run.then(FollowUp::AskGates { task, point, exchange: None });
    } else if point == GatePoint::Publish {
        // No input will come to say that it publishes nothing.
        advance::begin_finally(run);
    }
}

/// Sets the timers again, also those of tasks that wait for their turn: the time in between counts. Tasks
/// whose step is still to be considered get their timer there.
pub(in crate::machine) fn resume_timers(run: &mut Run) {
    timeouts::run_timer(run);
    let (mut waiting, mut resting) = (Vec::new(), Vec::new());
    for (task, record) in run.state().tasks() {
        let waits = match record.phase() {
            TaskPhase::Active(_) | TaskPhase::Ended(_) => false,
            TaskPhase::Locking => true,
            // Gates let it queue, or a person let it begin another round.
            TaskPhase::Queued | TaskPhase::Resting(_) => record.attempts_of_round() == 0,
            TaskPhase::Pending | TaskPhase::Due | TaskPhase::Undecided => {
                task.item.is_some() && record.attempts_of_round() == 0
            }
        };
        if waits {
            waiting.push(task);
        }
        if let TaskPhase::Resting(at) = record.phase() {
            let attempt = state::attempt(run.plan(), task, record.attempts().saturating_add(1));
            resting.push((attempt, at));
        }
    }
    for (attempt, at) in resting {
        run.set_timer(TimerKind::Retry(attempt), at);
    }
    for task in waiting {
        timers::set_queue_timer(run, task);
    }
}

/// Asks for the locks of tasks that go on, and keep their room.
pub(in crate::machine) fn resume_locks(run: &mut Run) {
    // A task whose attempt has not begun holds no lock, even while an approval is pending for it; one
    // with a result from the cache has begun.
    let asks_before = |task| {
        let mut own = run.state().gates.requests_of(Some(task));
        own.any(|ask| matches!(ask.point, Some(GatePoint::Enter | GatePoint::Again)))
    };
    let mut begun = run.state().activities();
    begun.retain(|(task, activity)| !activity.is_asking_first() || !asks_before(*task));
    for (task, _) in begun {
        // What it began, it goes on with, whoever has the lock now.
        let when_busy = LockBusyPolicy::Queue;
        let locks = TaskLocks { when_busy, ..TaskLocks::of(run.plan(), run.state(), task) };
        if !locks.is_empty() && !run.is_halting(task) {
            let task_id = state::task_id(run.plan(), task);
            run.push_effect(Effect::Lock { task_id, locks });
            run.flight.set(task, Some(TaskRequest::Return { approved: false }));
        }
    }
}

/// Asks for the end of work that has begun.
pub(in crate::machine) fn watch(run: &mut Run, task: TaskIx, attempt: Attempt, since: Moment) {
    let view = TaskScope { plan: run.plan(), state: run.state(), task: Some(task) };
    let reads = scope::work_reads(&view, run.plan().step(task.ix())).unwrap_or_default();
    run.push_effect(Effect::Watch {
        attempt,
        since,
        item_value: run.state().item(task).cloned(),
        reads,
        correction: feedback::correction(run, task),
        tool_args: run.tool_args(task),
        agent: run.agent_record(task).cloned().map(Box::new),
        generated: run.state().task_record(task).and_then(TaskRecord::generated_plan),
    });
}
