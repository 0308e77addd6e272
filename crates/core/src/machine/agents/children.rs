//! The child runs of an agent: it starts them with `dispatch`, and gets their results with `collect`.
//!
//! ```text
//! dispatch ──▶ ChildDispatched ──▶ waiting ──▶ ChildStarted ──▶ running ──▶ ChildEnded
//!                                     │  others ended well, and there is room         ▲
//!                                     └── one of them failed, or the agent ends ──────┘
//! ```
//!
//! A child run is a nested run, as that of a step with `uses`: a run of its own inside this one, with its own limit on
//! parallel attempts, so a waiting agent holds nothing it needs. A waiting call of `collect` is a tool
//! call that has begun and is not executed yet; no process waits, and the time limit of the attempt does not count it.
//!
//! **Invariant:** a child run begins only once the fact that it does is durable, and each once: which have begun follows
//! from the facts, and [`InFlight`](crate::machine::InFlight) knows which of them this engine was told to begin.
//! **Invariant:** an attempt ends only when all its child runs have ended. **Invariant:** `collect ready` never waits.

use crate::{
    agent::{ChildChoice, ChildReport, ChildRequest, ChildStart, ChildrenReport},
    machine::{
        agents::agent,
        state::{
            Run, TaskIx,
            budget_limits::{self, BUDGET_SPENT_PREFIX},
            follow_up::FollowUp,
            in_flight::TaskRequest,
        },
        words::{
            AgentRecord, Attempt, AttemptEnd, ChildDispatch, ChildEnd, ChildId, ChildPhase, ChildRecord,
            Effect, EventKind, ToolCallId, WorkExit, agents::agent_record::AgentStep,
        },
    },
};
use wf_base::name::Name;
use wf_model::FailureClass;

/// Returns the reason why a call of `dispatch` or `collect` is refused, if it is.
pub(in crate::machine) fn child_obstacle(run: &Run, task: TaskIx, request: &ChildRequest) -> Option<String> {
    let start = match request {
        ChildRequest::Collect(ChildChoice::Child(child)) if find_child(run, task, child).is_none() => {
            return Some(format!("no run with the id `{child}` was started"));
        }
        ChildRequest::Collect(_) => return None,
        ChildRequest::Dispatch(start) => start,
    };
    let child = &start.child;
    let max = run.agent_work(task)?.dispatch.as_ref()?.max;
    if find_child(run, task, child).is_some() {
        return Some(format!("a run with the id `{child}` was started before; give this one another id"));
    }
    if run.children(task).len() >= max as usize {
        return Some(format!("the plan allows this step {max} runs, and all were started"));
    }
    let unknown = start.depends_on.iter().find(|other| find_child(run, task, other).is_none());
    if let Some(other) = unknown {
        return Some(format!("`{child}` depends on `{other}`, and no run with this id was started"));
    }
    child_shortage(run, task)
}

/// Returns the reason why the budget lets no child run begin, if it does not.
fn child_shortage(run: &Run, task: TaskIx) -> Option<String> {
    let is_allowed = run.plan().is_finally(task.ix()) || budget_limits::allows_attempt(run);
    (!is_allowed).then(|| budget_limits::exhausted_reason(run).unwrap_or_else(|| BUDGET_SPENT_PREFIX.into()))
}

/// Carries out a call of `dispatch` or `collect` as far as it needs no answer from outside, and returns what the
/// model is told; `None` if the call waits.
pub(in crate::machine) fn answer_child_request(
    run: &mut Run,
    task: TaskIx,
    id: &ToolCallId,
    request: &ChildRequest,
) -> Option<ChildrenReport> {
    let choice = match request {
        ChildRequest::Dispatch(start) => {
            dispatch_child(run, task, id, start);
            // What a model is told must not depend on how fast others are: a replay tells it the same.
            return Some(ChildrenReport { runs: vec![ChildReport::dispatched(start)], pending: None });
        }
        ChildRequest::Collect(choice) => choice,
    };
    let record = run.agent_record(task)?;
    let is_open = |record: &&ChildRecord| record.end().is_none();
    if record.chosen_children(choice).any(|record| is_open(&record)) {
        run.flight.begin_collecting(task);
        return None;
    }
    let runs = record.chosen_children(choice).map(ChildRecord::report).collect();
    let pending = record.children.iter().filter(is_open).count();
    let pending = (*choice == ChildChoice::Ready).then_some(pending);
    Some(ChildrenReport { runs, pending })
}

/// Records a child run that was asked for, and lets it begin if it is its turn. After a crash the call is executed
/// again, and the child run is there.
fn dispatch_child(run: &mut Run, task: TaskIx, id: &ToolCallId, start: &ChildStart) {
    if find_child(run, task, &start.child).is_none() {
        let ChildStart { child, plan, depends_on, .. } = start.clone();
        run.emit(EventKind::ChildDispatched(ChildDispatch { id: id.clone(), child, plan, depends_on }));
        start_children(run, task, &id.attempt);
    }
}

/// Lets the next child runs of an attempt begin, and ends those barred from it.
fn start_children(run: &mut Run, task: TaskIx, attempt: &Attempt) {
    while let Some((child, obstacle)) = next_child(run, task) {
        let id = ChildId { attempt: attempt.clone(), child };
        match obstacle {
            None => run.emit(EventKind::ChildStarted(id)),
            Some(reason) => {
                let exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
                run.emit(EventKind::ChildEnded(Box::new(ChildEnd::without_result(id, exit))));
            }
        }
    }
    request_children(run, task, attempt);
}

/// Returns the first child run that need not wait any more, with the reason why it cannot begin, if there is one.
fn next_child(run: &Run, task: TaskIx) -> Option<(Name, Option<String>)> {
    if run.forced_exit(task).is_some() {
        return None;
    }
    let children = run.children(task);
    let running = children.iter().filter(|record| record.phase == ChildPhase::Running).count();
    let most = run.agent_work(task)?.dispatch.as_ref()?.max_parallel;
    let mut waiting = children.iter().filter(|record| record.phase == ChildPhase::Waiting);
    waiting.find_map(|ChildRecord { start, .. }| {
        let end = |other: &&Name| find_child(run, task, other).and_then(ChildRecord::end);
        let has_failed = |other: &&Name| end(other).is_some_and(|end| !end.exit.is_success());
        if let Some(other) = start.depends_on.iter().find(has_failed) {
            let reason = format!("`{other}`, on which it depends, did not succeed");
            return Some((start.child.clone(), Some(reason)));
        }
        let is_ready = running < most as usize && start.depends_on.iter().all(|other| end(&other).is_some());
        is_ready.then(|| (start.child.clone(), child_shortage(run, task)))
    })
}

/// Asks for the begun child runs of an attempt, if this engine was not asked for them: the new ones, and
/// after a resume all.
pub(in crate::machine) fn request_children(run: &mut Run, task: TaskIx, attempt: &Attempt) {
    let running = run.children(task).iter().filter(|record| record.phase == ChildPhase::Running);
    let starts: Vec<ChildStart> = running.map(|record| record.start.clone()).collect();
    for ChildStart { child, plan, params, .. } in starts {
        let id = ChildId { attempt: attempt.clone(), child };
        if run.flight.begin_child(id.clone()) {
            run.push_effect(Effect::StartChild { id, plan, params });
        }
    }
}

/// Applies the end of a child run.
pub(in crate::machine) fn on_child_end(run: &mut Run, end: ChildEnd) {
    let attempt = end.id.attempt.clone();
    let Some(task) = run.task_ix(&attempt.task_id).filter(|_| run.flight.end_child(&end.id)) else {
        return;
    };
    run.emit(EventKind::ChildEnded(Box::new(end)));
    let is_last = !run.has_open_children(task);
    if is_last && let Some(ended) = run.flight.take_held_end(task) {
        return run.then(FollowUp::EndAttempt(Box::new(ended)));
    }
    let record = run.agent_record(task);
    if let Some((exit, answer)) = record.and_then(|record| Some((record.exit.clone()?, record.answer))) {
        // After a resume, the briefing that is read again ends it.
        let is_briefed = run.flight.request(task) != Some(TaskRequest::Briefing);
        if is_last && is_briefed {
            agent::end_agent(run, &attempt, exit, answer);
        }
        return;
    }
    start_children(run, task, &attempt);
    if run.flight.end_collecting(task)
        && let Some(AgentStep::AwaitTool(position)) = run.agent_record(task).map(AgentRecord::next_step)
    {
        agent::call_tool(run, task, &attempt, position);
    }
}

/// Ends the child runs of an ending attempt: waiting ones do not begin, running ones are told to end. True
/// if the attempt has to wait for them.
pub(in crate::machine) fn stop_children(run: &mut Run, task: TaskIx, attempt: &Attempt) -> bool {
    run.flight.end_collecting(task);
    let waiting = run.children(task).iter().filter(|record| record.phase == ChildPhase::Waiting);
    let waiting: Vec<Name> = waiting.map(|record| record.start.child.clone()).collect();
    for child in waiting {
        let id = ChildId { attempt: attempt.clone(), child };
        let end = ChildEnd::without_result(id, WorkExit::Cancelled);
        run.emit(EventKind::ChildEnded(Box::new(end)));
    }
    let is_open = run.has_open_children(task);
    if is_open {
        let force = run.state().is_force_cancelled();
        run.push_effect(Effect::Kill { attempt: Some(attempt.clone()), force });
    }
    is_open
}

/// Keeps the end of an agent that could not go on after a crash until its child runs have ended.
pub(in crate::machine) fn hold_for_children(run: &mut Run, task: TaskIx, end: AttemptEnd) {
    if stop_children(run, task, &end.attempt) {
        run.flight.hold_end(task, end);
    } else {
        run.then(FollowUp::EndAttempt(Box::new(end)));
    }
}

fn find_child<'a>(run: &'a Run, task: TaskIx, child: &Name) -> Option<&'a ChildRecord> {
    run.children(task).iter().find(|record| record.start.child == *child)
}
