//! The workflow of a run in the library that workers have, with a server that is the test: what the workflow is told, and in
//! which batches, is up to the test.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    sync::Arc,
    task::Waker,
    time::{Duration, UNIX_EPOCH},
};

use serde::{Serialize, de::DeserializeOwned};
use temporalio_common::{
    data_converters::DataConverter,
    protos::{
        coresdk::{
            activity_result::{ActivityResolution, Success, activity_resolution},
            workflow_activation::{
                DoUpdate, FireTimer, InitializeWorkflow, NotifyHasPatch, QueryWorkflow, ResolveActivity,
                SignalWorkflow, WorkflowActivation, WorkflowActivationJob, workflow_activation_job::Variant,
            },
            workflow_commands::{
                CompleteWorkflowExecution, WorkflowCommand, workflow_command::Variant as Command,
            },
        },
        temporal::api::common::v1::Payload,
    },
};
use temporalio_workflow::{
    __private::sdk::{
        ActivationJobResult, GuestWorkflowInstance, MAIN_ROUTINE_ID, MainRoutineCompletion,
        RoutineCompletion, RoutineId, WorkflowHost, WorkflowInit, WorkflowInstance,
    },
    BaseWorkflowContext,
};

use wf_temporal::{
    RunPlans,
    objects::Objects,
    order::{RunNews, RunOrder, WorkOrder, WorkReport},
    workflow::RunWorkflow,
};

/// Something that a workflow waits for, and that happens.
#[derive(Clone, Debug)]
pub enum Event {
    /// The activity of a number ended with a report.
    Report(u32, Box<WorkReport>),
    /// The activity of a number ended, in whatever way.
    Ended(u32, Box<ActivityResolution>),
    /// The timer of a number went off.
    Timer(u32),
    /// A signal of a name came.
    Signal(String, Payload),
    /// An update of a name came, which is accepted.
    Update(String, Payload),
    /// The history has a mark.
    Mark(String),
}

/// Something that a workflow asks of the server.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// An activity: its number, its name and its order.
    Work(u32, String, Box<WorkOrder>),
    Timer(u32, Duration),
    /// The end of the activity of a number.
    Cancel(u32),
    /// A mark in the history.
    Mark(String),
    /// The end of the workflow.
    End,
}

impl Wanted {
    /// Returns the part of it that a replay compares with the history.
    pub fn compared(&self) -> String {
        match self {
            Self::Work(number, name, _) => format!("activity {number}: {name}"),
            Self::Timer(number, _) => format!("timer {number}"),
            Self::Cancel(number) => format!("cancel {number}"),
            Self::Mark(name) => format!("mark {name}"),
            Self::End => "end".into(),
        }
    }

    fn of(command: WorkflowCommand) -> Self {
        match command.variant.unwrap() {
            Command::ScheduleActivity(activity) => {
                let order = Box::new(value(&activity.arguments[0]));
                Self::Work(activity.seq, activity.activity_id, order)
            }
            Command::StartTimer(timer) => {
                let time = timer.start_to_fire_timeout.unwrap().try_into().unwrap();
                Self::Timer(timer.seq, time)
            }
            Command::CompleteWorkflowExecution(_) => Self::End,
            Command::RequestCancelActivity(cancel) => Self::Cancel(cancel.seq),
            Command::SetPatchMarker(mark) => Self::Mark(mark.patch_id),
            other => panic!("no such command is expected: {other:?}"),
        }
    }
}

/// A workflow that a worker has.
pub struct Replica {
    instance: Box<dyn WorkflowInstance>,
    commands: Rc<Commands>,
    first: Vec<Variant>,
    handlers: Vec<RoutineId>,
    is_live: bool,
    /// True if the server suggests to begin the history anew.
    pub is_long: bool,
}

/// The commands of a workflow that the server was not given.
#[derive(Default)]
struct Commands(RefCell<Vec<WorkflowCommand>>);

impl WorkflowHost for Commands {
    fn set_current_details(&self, _: String) {}

    fn push_command(&self, command: WorkflowCommand) {
        self.0.borrow_mut().push(command);
    }
}

impl Replica {
    /// A workflow before it was told anything. One that is live makes the history, and another one replays it.
    pub fn new(objects: &Objects, order: &RunOrder, is_live: bool) -> Self {
        let init = InitializeWorkflow { arguments: vec![payload(order)], ..Default::default() };
        let commands = Rc::new(Commands::default());
        let names = || "test".to_owned();
        let raw = WorkflowInit {
            namespace: names(),
            task_queue: names(),
            run_id: names(),
            initialize_workflow: init.clone(),
        };
        let context =
            BaseWorkflowContext::from_raw(raw, DataConverter::default(), commands.clone(), None, Vec::new());
        let workflow = RunWorkflow::new(objects.clone(), Arc::new(RunPlans::default()));
        let instance = GuestWorkflowInstance::new_with_workflow(workflow, context, Some(order.clone()));
        let first = vec![Variant::InitializeWorkflow(init)];
        Self { instance: Box::new(instance), commands, first, handlers: Vec::new(), is_live, is_long: false }
    }

    /// Tells the workflow what happened until an instant, in milliseconds. Returns what it wants then.
    pub fn tell(&mut self, millis: u64, events: &[Event]) -> Vec<Wanted> {
        let jobs = events.iter().cloned().map(|event| match event {
            Event::Report(seq, report) => {
                let done = Success { result: Some(payload(&*report)) };
                resolve(
                    seq,
                    ActivityResolution { status: Some(activity_resolution::Status::Completed(done)) },
                )
            }
            Event::Ended(seq, resolution) => resolve(seq, *resolution),
            Event::Timer(seq) => Variant::FireTimer(FireTimer { seq }),
            Event::Mark(patch_id) => Variant::NotifyHasPatch(NotifyHasPatch { patch_id }),
            Event::Signal(signal_name, payload) => {
                let input = vec![payload];
                Variant::SignalWorkflow(SignalWorkflow { signal_name, input, ..SignalWorkflow::default() })
            }
            Event::Update(name, payload) => {
                let input = vec![payload];
                Variant::DoUpdate(DoUpdate { name, input, ..DoUpdate::default() })
            }
        });
        let jobs: Vec<_> = std::mem::take(&mut self.first).into_iter().chain(jobs).collect();
        if !jobs.is_empty() {
            let started = self.activate(millis, jobs).into_iter().filter_map(|result| match result {
                ActivationJobResult::StartedRoutine(started) => Some(started.routine_id),
                _ => None,
            });
            self.handlers = started.collect();
            self.drive();
        }
        self.commands.0.take().into_iter().map(Wanted::of).collect()
    }

    /// Asks for the news of the run, as a query does.
    pub fn news(&mut self, millis: u64) -> Option<RunNews> {
        let arguments = vec![payload(&())];
        let query = QueryWorkflow { query_type: "news".into(), arguments, ..Default::default() };
        let results = self.activate(millis, vec![Variant::QueryWorkflow(query)]);
        let [ActivationJobResult::QueryResponse(response)] = results.as_slice() else {
            panic!("{results:?}")
        };
        value(response.result.as_ref().unwrap())
    }

    fn activate(&mut self, millis: u64, jobs: Vec<Variant>) -> Vec<ActivationJobResult> {
        let time = UNIX_EPOCH + Duration::from_millis(millis);
        let jobs = jobs.into_iter().map(|variant| WorkflowActivationJob { variant: Some(variant) }).collect();
        let activation = WorkflowActivation {
            timestamp: Some(time.into()),
            is_replaying: !self.is_live,
            continue_as_new_suggested: self.is_long,
            jobs,
            ..Default::default()
        };
        self.instance.activate(activation, Waker::noop()).unwrap().job_results
    }

    fn drive(&mut self) {
        // Those of a run end as they are asked.
        for handler in std::mem::take(&mut self.handlers) {
            let polled = self.instance.poll_routine(handler, Waker::noop()).unwrap();
            assert!(polled.completion.is_some());
        }
        loop {
            let polled = self.instance.poll_routine(MAIN_ROUTINE_ID, Waker::noop()).unwrap();
            match polled.completion.unwrap() {
                RoutineCompletion::Main(MainRoutineCompletion::Blocked) if polled.made_progress => {}
                RoutineCompletion::Main(MainRoutineCompletion::Blocked) => return,
                RoutineCompletion::Main(MainRoutineCompletion::Terminal(_)) => {
                    let end = Command::CompleteWorkflowExecution(CompleteWorkflowExecution::default());
                    return self.commands.push_command(end.into());
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn resolve(seq: u32, resolution: ActivityResolution) -> Variant {
    Variant::ResolveActivity(ResolveActivity { seq, result: Some(resolution), is_local: false })
}

fn payload(value: &impl Serialize) -> Payload {
    let encoding = ("encoding".to_owned(), b"json/plain".to_vec());
    let data = serde_json::to_vec(value).unwrap();
    Payload { metadata: [encoding].into_iter().collect(), data, ..Default::default() }
}

pub fn value<T: DeserializeOwned>(payload: &Payload) -> T {
    serde_json::from_slice(&payload.data).unwrap()
}

/// What a workflow waits for, by number.
#[derive(Default)]
pub struct Pending {
    pub works: BTreeMap<u32, Box<WorkOrder>>,
    pub timers: BTreeMap<u32, Duration>,
    pub is_over: bool,
}

impl Pending {
    /// Adds what a workflow wants.
    pub fn add(&mut self, wanted: Vec<Wanted>) {
        for wanted in wanted {
            match wanted {
                Wanted::Work(number, _, order) => drop(self.works.insert(number, order)),
                Wanted::Timer(number, time) => drop(self.timers.insert(number, time)),
                // What is told to end reports all the same.
                Wanted::Cancel(_) | Wanted::Mark(_) => {}
                Wanted::End => self.is_over = true,
            }
        }
    }
}
