//! Child runs of agents: which agents start them, what their models ask for, and how they end.

use wf_base::name::{Name, PlanId};
use wf_core::{
    agent::{ChildChoice, ChildRequest, ChildStart},
    machine::{
        Attempt, ChildDispatch, ChildEnd, ChildId, EventKind, InputKind, RequestedTool, Standing, WorkExit,
    },
};
use wf_model::{AgentDispatch, AgentEngine, AgentWork, ChildPlan, FailureClass, JsonObject, StepWork};

use super::{
    calls::Agents,
    dice::Dice,
    engine::Job,
    ledger::step_of,
    look::{Broken, Seen},
    plans,
    world::World,
};

/// The ids that models give child runs: few, so that some are given twice, or asked for and not there.
const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Lets some agents start child runs.
pub fn of_agent(work: &mut AgentWork, mut dice: Dice) {
    if work.engine != AgentEngine::Builtin || dice.one_in(2) {
        return;
    }
    let nested = plans::nested();
    work.dispatch = Some(Box::new(AgentDispatch {
        plans: vec![ChildPlan { plan: nested.plan, path: nested.path }],
        max: 1 + dice.up_to(4),
        max_parallel: 1 + dice.up_to(2),
    }));
    work.max_turns += 3;
}

/// Makes some tool calls of a model calls of `dispatch` and `collect`.
pub fn requested(calls: &mut [RequestedTool], mut dice: Dice) {
    for call in calls.iter_mut().filter(|call| call.mistake.is_none()) {
        let (tool, request) = match dice.below(8) {
            0..3 => ("dispatch", ChildRequest::Dispatch(start(&mut dice))),
            3 => ("collect", ChildRequest::Collect(ChildChoice::Ready)),
            4 => ("collect", ChildRequest::Collect(ChildChoice::All)),
            5 => ("collect", ChildRequest::Collect(ChildChoice::Child(child_id(&mut dice)))),
            _ => continue,
        };
        (call.tool, call.children) = (tool.to_owned(), Some(Box::new(request)));
    }
}

fn start(dice: &mut Dice) -> ChildStart {
    let depends_on = (0..dice.below(3)).map(|_| child_id(dice)).collect();
    let plan = PlanId::parse("inner").expect("a name");
    ChildStart { child: child_id(dice), plan, params: JsonObject::new(), depends_on }
}

/// What is known about a child run.
#[derive(Clone, Debug)]
pub struct Child {
    pub start: ChildStart,
    pub begun: bool,
    /// Whether it succeeded, once it has ended.
    pub end: Option<bool>,
}

impl World {
    /// Whether the agent of an attempt may start child runs.
    pub fn dispatches(&self, at: usize, attempt: &Attempt) -> bool {
        match &step_of(&self.runs[at].plan, &attempt.task_id).work {
            StepWork::Agent(work) => work.dispatch.is_some(),
            _ => false,
        }
    }

    /// Lets a child run begin, or go on, which takes its time.
    pub fn begin_child(&mut self, at: usize, number: usize, id: &ChildId) -> Result<(), Broken> {
        let took = self.fates.dice(at, &format!("time of {}", id.attempt_path())).up_to(2500);
        let due = self.now + i64::from(took);
        let unit = &mut self.engine(at).units[number];
        debug_assert!(matches!(unit.job, Job::Child { .. }), "it is a child run");
        (unit.begun, unit.due) = (true, due);
        self.look(at, Seen::Begins { task_id: &id.attempt.task_id, process: false })
    }

    /// What comes of a child run.
    pub fn child_ended(&self, at: usize, id: ChildId, stop: bool) -> InputKind {
        let mut dice = self.fates.dice(at, &format!("child {}", id.attempt_path()));
        let (mut exit, mut standing) =
            (WorkExit::Completed, *dice.pick(&[Standing::Reported, Standing::Verified]));
        if dice.one_in(4) {
            let reason = "nested run failed".into();
            exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            standing = Standing::Refuted;
        }
        if stop {
            (exit, standing) = (WorkExit::Cancelled, Standing::Unchecked);
        }
        let usage = super::budget::usage(&id.attempt_path());
        let end = ChildEnd { id, exit, standing, outputs: JsonObject::new(), usage };
        InputKind::ChildEnded(Box::new(end))
    }
}

fn child_id(dice: &mut Dice) -> Name {
    let id: &&str = dice.pick(&IDS);
    name(id)
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

impl Agents {
    /// Takes an event of a child run into account.
    pub(super) fn take_child(&mut self, fact: &EventKind) {
        match fact {
            EventKind::ChildDispatched(dispatch) => {
                let ChildDispatch { id, child, plan, depends_on } = dispatch.clone();
                let start = ChildStart { child, plan, params: JsonObject::new(), depends_on };
                self.of(&id.attempt.task_id).children.push(Child { start, begun: false, end: None });
            }
            EventKind::ChildStarted(id) => self.change_child(id, |child| child.begun = true),
            EventKind::ChildEnded(end) => {
                self.change_child(&end.id, |child| child.end = Some(end.exit.is_success()));
            }
            _ => {}
        }
    }

    fn change_child(&mut self, id: &ChildId, change: impl Fn(&mut Child)) {
        let children = &mut self.of(&id.attempt.task_id).children;
        children.iter_mut().filter(|child| child.start.child == id.child).for_each(change);
    }
}
