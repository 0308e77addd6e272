//! The loop of a run whose agent starts runs, without a server.

use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId, RunId},
};
use wf_core::{
    agent::{ChildChoice, ChildRequest, ChildStart},
    machine::{
        AttemptEnd, ChildEnd, Effect, InputKind, ModelCall, RequestedTool, RunOutcome, ToolCallEnd,
        ToolCallId, ToolOrder, WorkExit,
    },
};
use wf_engine::NestedRun;
use wf_model::JsonObject;
use wf_temporal::{
    command::{DriverCommand, Occurrence},
    order::{Job, WorkOrder, WorkWish},
};

use crate::driven::{Driven, briefed, driven_run, ended, replied};

const AGENT: &str =
    "  - {id: a, agent: {role: executor, tools: [dispatch, collect], dispatch: {plans: [inner.md]}}}\n";
const INNER: &str = "  - {id: inner, run: 'true'}\n";

type Ordered = (u64, WorkOrder, Job);

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A run whose agent has called its model, which asks for two runs and for their results.
struct Dispatching {
    driven: Driven,
    agent: Effect,
    /// What the reply led to.
    open: Vec<Ordered>,
}

impl Dispatching {
    fn new() -> Self {
        let mut driven = Driven::with(AGENT, &[("inner", INNER)]);
        let commands = driven.begin();
        let (key, _, agent) = driven.only_work(&commands);
        let commands = driven.report(key, vec![briefed()], false);
        let (key, queue, _) = driven.only_work(&commands);
        assert_eq!(queue, "wf-host-w", "an agent works at one host");
        let reply = reply(&agent);
        let commands = driven.report(key, vec![reply], false);
        let open = driven.works(&commands);
        Self { driven, agent, open }
    }

    /// Takes the ordered work of a kind.
    fn take(&mut self, is_it: impl Fn(&Job) -> bool) -> Ordered {
        let found = self.open.iter().position(|(_, _, job)| is_it(job));
        self.open.remove(found.unwrap_or_else(|| panic!("{:?}", self.open)))
    }

    /// Reports work, and keeps what follows.
    fn report(&mut self, key: u64, input: InputKind) {
        let commands = self.driven.report(key, vec![input], false);
        self.open.extend(self.driven.works(&commands));
    }

    /// Ends the tool call at a position.
    fn end_call(&mut self, position: u32) {
        let is_it = |job: &Job| match job {
            Job::Effect(effect) => {
                matches!(&**effect, Effect::CallTool(ToolOrder { id, .. }) if id.position == position)
            }
            _ => false,
        };
        let (key, ..) = self.take(is_it);
        let (attempt, result) = (self.agent.attempt().unwrap(), Sha256Digest::of_bytes(b"result"));
        let id = ToolCallId { attempt, call: 1, position };
        let end = ToolCallEnd { id, result, tokens: 3, is_error: false, untrusted: None, duration_ms: 1 };
        self.report(key, InputKind::ToolEnded(end));
    }

    /// Takes the order to begin a run of the agent.
    fn take_child(&mut self, child: &str) -> (u64, WorkOrder, NestedRun) {
        let begins = |job: &Job| matches!(job, Job::Effect(effect) if matches!(&**effect, Effect::StartChild { id, .. } if id.child.as_str() == child));
        let (key, order, job) = self.take(begins);
        let Job::Effect(effect) = job else { panic!("{job:?}") };
        let nested = NestedRun {
            outer: driven_run(),
            attempt: effect.attempt().unwrap(),
            child: Some(name(child)),
            path: "inner.md".into(),
            params: JsonObject::new(),
            generated: None,
            item_key: None,
            dropped: Vec::new(),
        };
        (key, order, nested)
    }

    /// Begins a run of the agent, and returns its id and the work of its step.
    fn begin(&mut self, child: &str) -> (RunId, Ordered) {
        let (key, _, nested) = self.take_child(child);
        let run = nested.id();
        let commands = self.driven.report_nested(key, nested);
        self.open.extend(self.driven.works(&commands));
        let found = self.open.iter().position(|(_, order, _)| order.run == run).unwrap();
        (run, self.open.remove(found))
    }

    /// Reports the end of the step of a run, and that of the run.
    fn end(&mut self, child: &str, (key, _, job): &Ordered, exit: WorkExit) {
        let Job::Effect(effect) = job else { panic!("{job:?}") };
        self.report(*key, ended(effect));
        self.end_run(child, exit);
    }

    fn end_run(&mut self, child: &str, exit: WorkExit) {
        let is_it =
            |effect: &Effect| matches!(effect, Effect::StartChild { id, .. } if id.child.as_str() == child);
        let (key, order, job) =
            self.take(|job| matches!(job, Job::EndNested { effect, .. } if is_it(effect)));
        assert_eq!(order.run, driven_run());
        let Job::EndNested { effect, timed_out: false } = job else { panic!("{job:?}") };
        let Effect::StartChild { id, .. } = *effect else { panic!("{effect:?}") };
        self.report(key, InputKind::ChildEnded(Box::new(ChildEnd::without_result(id, exit))));
    }
}

/// The reply of a model that asks for two runs, and for the results of both.
fn reply(agent: &Effect) -> InputKind {
    let plan = PlanId::parse("inner").unwrap();
    let dispatch = |child| {
        let (child, params, depends_on) = (name(child), JsonObject::new(), Vec::new());
        ChildRequest::Dispatch(ChildStart { child, plan: plan.clone(), params, depends_on })
    };
    let requests = [dispatch("one"), dispatch("two"), ChildRequest::Collect(ChildChoice::All)];
    let requested = |request: ChildRequest| {
        let tool = if matches!(request, ChildRequest::Dispatch(_)) { "dispatch" } else { "collect" };
        RequestedTool {
            tool: tool.into(),
            mistake: None,
            calls: Vec::new(),
            children: Some(Box::new(request)),
        }
    };
    replied(agent, requests.into_iter().map(requested).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_an_agent_go_on_beside_it_and_it_waits_for_all() {
    let mut run = Dispatching::new();
    let (one, first) = run.begin("one");
    assert_eq!(one, driven_run().child("a/one#1"), "it has the id that it has here");
    run.end_call(0);
    let (_, second) = run.begin("two");
    run.end_call(1);
    assert!(run.open.is_empty(), "it waits: {:?}", run.open);
    run.end("two", &second, WorkExit::Completed);
    assert!(run.open.is_empty(), "it waits for the other one: {:?}", run.open);
    run.end("one", &first, WorkExit::Completed);
    run.end_call(2);
    let (_, _, job) = run.take(|_| true);
    assert!(
        matches!(&job, Job::Effect(effect) if matches!(**effect, Effect::CallModel(ModelCall { call: 2, .. })))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_begins_anywhere_and_its_agent_stays_where_it_is() {
    let mut run = Dispatching::new();
    let (key, order, nested) = run.take_child("one");
    assert!(order.log.count > 0, "it relies on what its agent did");
    let commands = run.driven.report_nested(key, nested);
    let queues = |commands: &[DriverCommand]| -> Vec<String> {
        let queue = |command: &DriverCommand| match command {
            DriverCommand::Work { queue, .. } => Some(queue.clone()),
            _ => None,
        };
        commands.iter().filter_map(queue).collect()
    };
    assert_eq!(queues(&commands), ["here"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_beginning_is_lost_has_failed_and_its_agent_goes_on() {
    let mut run = Dispatching::new();
    let (key, ..) = run.take_child("one");
    assert!(run.driven.step(Occurrence::Lost { key }).is_empty(), "the agent works on");
    run.end_call(0);
    let (_, second) = run.begin("two");
    run.end_call(1);
    run.end("two", &second, WorkExit::Completed);
    run.end_call(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_an_agent_go_on_in_the_next_workflow() {
    let mut run = Dispatching::new();
    let (one, (key, ..)) = run.begin("one");
    run.driven.driver.drain();
    run.end_call(0);
    run.end_call(1);
    assert!(run.open.is_empty(), "no other run begins: {:?}", run.open);
    run.driven.step(Occurrence::GraceOver);
    run.driven.report(key, vec![], true);
    let commands = run.driven.go_on();
    run.open = run.driven.works(&commands);
    let step = run.take(
        |job| matches!(job, Job::Effect(effect) if effect.attempt().unwrap().task_id.step.as_str() == "inner"),
    );
    assert_eq!(step.1.run, one, "the run that had begun goes on");
    let (key, ..) = run.take(
        |job| matches!(job, Job::Effect(effect) if matches!(**effect, Effect::Watch { agent: Some(_), .. })),
    );
    run.report(key, briefed());
    let (_, second) = run.begin("two");
    run.end("one", &step, WorkExit::Completed);
    run.end("two", &second, WorkExit::Completed);
    run.end_call(2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_an_agent_that_ends_end_before_it() {
    let mut run = Dispatching::new();
    let (_, (key, ..)) = run.begin("one");
    run.end_call(0);
    let (begins, ..) = run.take_child("two");
    run.end_call(1);
    for wish in [WorkWish::End, WorkWish::Kill] {
        run.driven.step(Occurrence::Cancel("enough".into()));
        assert_eq!([key, begins].map(|key| run.driven.driver.wish(key)), [wish, wish]);
    }
    for key in [begins, key] {
        let commands = run.driven.step(Occurrence::Unbegun { key });
        run.open.extend(run.driven.works(&commands));
    }
    run.end_run("one", WorkExit::Cancelled);
    let (key, _, job) = run.take(|_| true);
    let Job::Effect(end) = job else { panic!("{job:?}") };
    assert!(matches!(*end, Effect::EndAgent(_)), "{end:?}");
    run.report(key, InputKind::Ended(AttemptEnd::new(end.attempt().unwrap(), WorkExit::Cancelled)));
    assert_eq!(run.driven.driver.outcome(), Some(RunOutcome::Cancelled));
}
