//! The rules of child runs, one by one: when they begin, what waits for them, and what ends them.

use std::time::Duration;

use wf_core::{
    agent::{ChildChoice, ChildRequest, ChildStart, ChildrenReport},
    machine::{
        AttemptEnd, AttemptUsage, ChildEnd, ChildId, Effect, EventKind, InputKind, ModelCallOutcome,
        RequestedTool, Standing, StepState, TimerKind, ToolOrder, WorkExit,
    },
};
use wf_model::{AgentDispatch, AgentTool, ChildPlan, FailureClass, JsonObject, Step, StepWork};

use super::{
    agents::{agent, answers, asked, briefed, collected, replied, reply, tool_ended},
    killed::{Killed, attempt, end_of, single},
    world::name,
};

/// A run whose agent may start child runs, two at a time and three in all.
fn talking(change: impl FnOnce(&mut Step)) -> Killed {
    let mut run = Killed::new(single(|step| {
        step.work = agent(9);
        if let StepWork::Agent(work) = &mut step.work {
            let plans = vec![ChildPlan { plan: single(|_| {}), path: "inner.md".into() }];
            work.tools = vec![AgentTool::Dispatch, AgentTool::Collect];
            work.dispatch = Some(Box::new(AgentDispatch { plans, max: 3, max_parallel: 2 }));
        }
        change(step);
    }));
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 1"]);
    run
}

fn dispatch(child: &str, depends_on: &[&str]) -> ChildRequest {
    ChildRequest::Dispatch(ChildStart {
        child: name(child),
        plan: single(|_| {}).id().clone(),
        params: JsonObject::new(),
        depends_on: depends_on.iter().map(|other| name(other)).collect(),
    })
}

fn collect(choice: ChildChoice) -> ChildRequest {
    ChildRequest::Collect(choice)
}

/// A reply that calls `dispatch` and `collect`.
fn calls(call: u32, requests: Vec<ChildRequest>) -> InputKind {
    let mut outcome = reply(&vec![("x", None); requests.len()]);
    if let ModelCallOutcome::Replied { tool_calls, .. } = &mut outcome {
        let requested = |request: ChildRequest| {
            let tool = if matches!(request, ChildRequest::Dispatch(_)) { "dispatch" } else { "collect" };
            RequestedTool {
                tool: tool.into(),
                mistake: None,
                calls: Vec::new(),
                children: Some(Box::new(request)),
            }
        };
        *tool_calls = requests.into_iter().map(requested).collect();
    }
    replied("a", call, outcome, None)
}

fn id(child: &str) -> ChildId {
    ChildId { attempt: attempt("a", 1), child: name(child) }
}

fn child_ended(child: &str, exit: WorkExit) -> InputKind {
    let standing = if exit.is_success() { Standing::Verified } else { Standing::Unchecked };
    let usage = AttemptUsage { tokens: 5, ..AttemptUsage::default() };
    let end = ChildEnd { id: id(child), exit, standing, outputs: JsonObject::new(), usage };
    InputKind::ChildEnded(Box::new(end))
}

fn failed() -> WorkExit {
    WorkExit::Error { reason: "no".into(), failure_class: FailureClass::Logical }
}

/// The child runs that begin.
fn begin(effects: &[Effect]) -> Vec<String> {
    let begun = effects.iter().filter_map(|effect| match effect {
        Effect::StartChild { id, .. } => Some(id.child.to_string()),
        _ => None,
    });
    begun.collect()
}

/// What a call of `dispatch` or `collect` returns.
fn report(effects: &[Effect]) -> Option<ChildrenReport> {
    effects.iter().find_map(|effect| match effect {
        Effect::CallTool(ToolOrder { children, .. }) => children.as_deref().cloned(),
        _ => None,
    })
}

/// The child runs that a call returns, each with its status.
fn results(effects: &[Effect]) -> Vec<String> {
    let runs = report(effects).map(|report| report.runs).unwrap_or_default();
    runs.iter().map(|run| format!("{} {}", run.id, run.status)).collect()
}

/// Starts child runs, one call after the other; returns those that begin.
fn start(run: &mut Killed, requests: Vec<ChildRequest>) -> Vec<String> {
    let count = u32::try_from(requests.len()).unwrap();
    let mut begun = begin(&run.feed(calls(1, requests)));
    for position in 0..count {
        begun.extend(begin(&run.feed(tool_ended(1, position))));
    }
    begun
}

#[test]
fn child_runs_begin_in_their_order_as_far_as_there_is_room() {
    let mut run = talking(|_| {});
    let all = vec![dispatch("x", &[]), dispatch("y", &[]), dispatch("z", &[])];
    assert_eq!(start(&mut run, all), ["x", "y"]);
    assert_eq!(begin(&run.feed(child_ended("y", WorkExit::Completed))), ["z"]);
    // An end that comes a second time is none.
    assert_eq!(run.feed(child_ended("y", WorkExit::Completed)), []);
    assert_eq!(run.machine.ledger().tokens, 120 + 5);
}

#[test]
fn a_child_run_waits_for_others_and_fails_with_them() {
    let mut run = talking(|_| {});
    let all = vec![dispatch("x", &[]), dispatch("y", &["x"]), dispatch("z", &["y"])];
    assert_eq!(start(&mut run, all), ["x"]);
    assert_eq!(begin(&run.feed(child_ended("x", failed()))), [""; 0]);
    let effects = run.feed(calls(2, vec![collect(ChildChoice::All)]));
    assert_eq!(results(&effects), ["x failed", "y failed", "z failed"]);
    let error = report(&effects).unwrap().runs[2].error.clone();
    assert_eq!(error.unwrap(), "`y`, on which it depends, did not succeed");
}

#[test]
fn what_is_wrong_with_a_call_is_told_and_nothing_begins() {
    let mut run = talking(|_| {});
    assert_eq!(start(&mut run, vec![dispatch("x", &[]), dispatch("y", &[])]), ["x", "y"]);
    let wrong = vec![
        dispatch("x", &[]),
        dispatch("z", &["w"]),
        collect(ChildChoice::Child(name("w"))),
        dispatch("z", &[]),
        dispatch("w", &[]),
    ];
    let effects = run.feed(calls(2, wrong));
    assert_eq!((begin(&effects), asked(&effects)), (vec![], vec!["tool 2.3".to_owned()]));
    assert_eq!(
        asked(&run.feed(tool_ended(2, 3))),
        [
            "model 3, 0 refused: a run with the id `x` was started before; give this one another id, 1 refused: `z` \
          depends on `w`, and no run with this id was started, 2 refused: no run with the id `w` was started, 4 \
          refused: the plan allows this step 3 runs, and all were started"
        ]
    );
}

#[test]
fn collect_waits_for_what_it_asks_for_and_ready_for_nothing() {
    let mut run = talking(|_| {});
    start(&mut run, vec![dispatch("x", &[]), dispatch("y", &[])]);
    let ready = run.feed(calls(2, vec![collect(ChildChoice::Ready)]));
    assert_eq!(report(&ready), Some(ChildrenReport { runs: Vec::new(), pending: Some(2) }));
    run.feed(tool_ended(2, 0));
    assert_eq!(run.feed(calls(3, vec![collect(ChildChoice::Child(name("y")))])), []);
    assert_eq!(results(&run.feed(child_ended("x", failed()))), [""; 0]);
    assert_eq!(results(&run.feed(child_ended("y", WorkExit::Completed))), ["y verified"]);
    assert_eq!(asked(&run.feed(tool_ended(3, 0))), ["model 4"]);
    let ready = run.feed(calls(4, vec![collect(ChildChoice::Ready)]));
    assert_eq!(results(&ready), ["x failed", "y verified"]);
    assert_eq!(report(&ready).unwrap().pending, Some(0));
}

#[test]
fn child_runs_are_cancelled_with_their_agent_which_ends_after_them() {
    let mut run = talking(|_| {});
    start(&mut run, vec![dispatch("x", &[]), dispatch("y", &["x"])]);
    assert_eq!(asked(&run.feed(answers(2, None))), ["kill"]);
    assert_eq!(begin(&run.resume()), ["x"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["kill"]);
    assert_eq!(asked(&run.feed(child_ended("x", WorkExit::Cancelled))), ["end: done"]);
    collected(&mut run, WorkExit::Completed);
    assert_eq!(end_of(&run.events, "a"), Some((StepState::Succeeded, String::new())));
    let ended = run.events.iter().filter(|event| matches!(event.fact, EventKind::ChildEnded(_)));
    assert_eq!(ended.count(), 2);
}

#[test]
fn a_cancelled_agent_that_waits_ends_with_its_child_runs() {
    let mut run = talking(|_| {});
    start(&mut run, vec![dispatch("x", &[])]);
    assert_eq!(run.feed(calls(2, vec![collect(ChildChoice::All)])), []);
    assert_eq!(asked(&run.cancel()), ["kill"]);
    assert_eq!(asked(&run.cancel()), ["kill"], "who insists is heard");
    assert_eq!(asked(&run.feed(child_ended("x", WorkExit::Cancelled))), ["end: cancelled"]);
    collected(&mut run, WorkExit::Cancelled);
    assert!(matches!(end_of(&run.events, "a"), Some((StepState::Cancelled, _))));
}

#[test]
fn after_a_crash_the_same_child_runs_go_on_and_none_begins_twice() {
    let mut run = talking(|_| {});
    let all = vec![dispatch("x", &[]), dispatch("y", &[]), dispatch("z", &[])];
    start(&mut run, all);
    run.feed(child_ended("x", WorkExit::Completed));
    run.feed(calls(2, vec![collect(ChildChoice::All)]));
    assert_eq!(begin(&run.resume()), ["y", "z"]);
    assert_eq!(asked(&run.feed(briefed("a"))), [""; 0]);
    assert_eq!(begin(&run.feed(child_ended("y", WorkExit::Completed))), [""; 0]);
    let effects = run.feed(child_ended("z", WorkExit::Completed));
    assert_eq!(results(&effects), ["x verified", "y verified", "z verified"]);
}

#[test]
fn an_agent_that_cannot_go_on_ends_after_its_child_runs() {
    let mut run = talking(|_| {});
    start(&mut run, vec![dispatch("x", &[])]);
    run.resume();
    let ended = AttemptEnd::new(attempt("a", 1), failed());
    assert_eq!(asked(&run.feed(InputKind::Ended(ended))), ["kill"]);
    assert_eq!(end_of(&run.events, "a"), None);
    run.feed(child_ended("x", WorkExit::Cancelled));
    assert_eq!(end_of(&run.events, "a"), Some((StepState::Failed, "no".into())));
}

#[test]
fn the_time_limit_of_an_agent_does_not_count_the_wait_for_child_runs() {
    let mut run = talking(|step| step.timeout = Some(Duration::from_secs(10)));
    start(&mut run, vec![dispatch("x", &[])]);
    run.feed(calls(2, vec![collect(ChildChoice::All)]));
    run.now = 60_000;
    let late = || InputKind::Woke { timer: TimerKind::Agent(attempt("a", 1)) };
    assert_eq!(run.feed(late()), []);
    run.feed(child_ended("x", WorkExit::Completed));
    let effects = run.feed(tool_ended(2, 0));
    assert_eq!(asked(&effects), ["model 3"]);
    let timer = effects.iter().find_map(|effect| match effect {
        Effect::Wake { at, .. } => Some(at.millis()),
        _ => None,
    });
    assert_eq!(timer, Some(70_000));
    run.now = 70_000;
    assert_eq!(asked(&run.feed(late())), ["kill"]);
}
