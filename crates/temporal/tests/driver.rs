//! The loop of a run without a server: occurrences in, commands out.

use std::collections::BTreeMap;
use std::sync::Arc;

use wf_app::RunOptions;
use wf_app::load::collect_plan;
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_core::machine::{AttemptEnd, Effect, InputKind, LOGIC_VERSION, RunOutcome, WorkExit};
use wf_lang::InMemoryFiles;
use wf_model::{JsonObject, Plan};
use wf_sign::approval::Approvers;
use wf_temporal::command::{DriverCommand, Occurrence};
use wf_temporal::driver::RunDriver;
use wf_temporal::objects::Objects;
use wf_temporal::order::{Job, OpenReport, RunOrder, RunSpec};
use wf_temporal::tree::{ChangeSource, Tree};

/// A run whose workers are the test.
struct Driven {
    driver: RunDriver,
    objects: Objects,
    spec: Arc<RunSpec>,
    plan: Arc<Plan>,
    at: i64,
    _folder: tempfile::TempDir,
}

impl Driven {
    /// A run of a plan with some steps, before anything has happened.
    fn new(steps: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let text = format!("---\nkind: plan\nid: driven\nsteps:\n{steps}---\n# Driven\n");
        let files = InMemoryFiles(BTreeMap::from([("plan.md".to_owned(), text.into_bytes())]));
        let plan = collect_plan(&files, "plan.md", RunOptions::default()).unwrap();
        let spec = Arc::new(RunSpec {
            logic_version: LOGIC_VERSION,
            path: "plan.md".into(),
            sources: Vec::new(),
            params: JsonObject::new(),
            approved: None,
            approvers: Approvers::owner(Vec::new()),
            config: serde_json::Value::Null,
            tree: objects.put_json_now(&Tree::default()).unwrap(),
            queues: BTreeMap::from(
                [("default", "here"), ("gpu", "there")].map(|(name, queue)| (name.into(), queue.into())),
            ),
        });
        let order = RunOrder { run: RunId::from_bytes([7; 16]), spec: spec.tree, progress: None };
        let driver = RunDriver::open(order, Arc::clone(&spec), Arc::clone(&plan), objects.clone()).unwrap();
        Self { driver, objects, spec, plan, at: 0, _folder: folder }
    }

    fn now(&mut self) -> Moment {
        self.at += 1;
        Moment::from_millis(self.at)
    }

    fn step(&mut self, occurrence: Occurrence) -> Vec<DriverCommand> {
        let at = self.now();
        self.driver.step(at, occurrence).unwrap()
    }

    /// Begins the run, in an empty workspace.
    fn begin(&mut self) -> Vec<DriverCommand> {
        let at = self.now();
        let commands = self.driver.begin(at).unwrap();
        let [DriverCommand::Work { key, .. }] = commands.as_slice() else { panic!("{commands:?}") };
        self.report(*key, vec![begin()], false)
    }

    fn report(&mut self, key: u64, inputs: Vec<InputKind>, is_left: bool) -> Vec<DriverCommand> {
        let source = ChangeSource::default();
        let report =
            OpenReport { inputs, change: None, source, files: vec![], host: "wf-host-w".into(), is_left };
        self.step(Occurrence::Reported { key, report })
    }

    /// Goes on in the next workflow.
    fn go_on(&mut self) -> Vec<DriverCommand> {
        assert!(self.driver.is_idle());
        let order = self.driver.store().unwrap();
        let (spec, plan) = (Arc::clone(&self.spec), Arc::clone(&self.plan));
        self.driver = RunDriver::open(order, spec, plan, self.objects.clone()).unwrap();
        let at = self.now();
        self.driver.begin(at).unwrap()
    }

    /// Returns the only work that is ordered: its number, its queue and its effect.
    fn only_work(&self, commands: &[DriverCommand]) -> (u64, String, Effect) {
        let [DriverCommand::Work { key, queue, order, .. }] = commands else { panic!("{commands:?}") };
        let job: Job = order.job.clone().open_now(&self.objects).unwrap();
        let Job::Effect(effect) = job else { panic!("{job:?}") };
        (*key, queue.clone(), *effect)
    }
}

fn begin() -> InputKind {
    InputKind::Begin {
        kept: vec![],
        left: vec![],
        dropped: vec![],
        baseline: None,
        approved: None,
        advice: vec![],
        intent: None,
    }
}

fn ended(effect: &Effect) -> InputKind {
    InputKind::Ended(AttemptEnd::new(effect.attempt().unwrap(), WorkExit::Code { code: 0 }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_goes_to_the_queue_that_it_names() {
    for (steps, queue) in
        [("  - {id: a, run: 'true'}\n", "here"), ("  - {id: a, run: 'true', runs_on: gpu}\n", "there")]
    {
        let mut driven = Driven::new(steps);
        let commands = driven.begin();
        assert_eq!(driven.only_work(&commands).1, queue);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_goes_to_work_that_relies_on_it_alone() {
    let mut driven = Driven::new("  - {id: a, run: 'true', verify: [{name: ok, run: 'true'}]}\n");
    let log = |commands: &[DriverCommand]| match commands {
        [DriverCommand::Work { order, .. }] => order.log.count,
        _ => panic!("{commands:?}"),
    };
    let commands = driven.begin();
    let (key, _, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::Start { .. }) && log(&commands) == 0, "{effect:?}");
    let commands = driven.report(key, vec![ended(&effect)], false);
    let (_, _, effect) = driven.only_work(&commands);
    assert!(matches!(effect, Effect::Check { .. }) && log(&commands) > 0, "{effect:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_left_is_waited_for_where_it_goes_on() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    assert!(matches!(driven.driver.drain()[..], [DriverCommand::Grace { .. }]));
    let told = driven.step(Occurrence::GraceOver);
    assert!(matches!(told[..], [DriverCommand::Stop { key: told }] if told == key));
    driven.report(key, vec![], true);
    let commands = driven.go_on();
    let (key, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "wf-host-w");
    assert!(matches!(effect, Effect::Watch { .. }), "{effect:?}");
    driven.report(key, vec![ended(&effect)], false);
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Succeeded));
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_no_worker_began_begins_in_the_next_workflow() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    driven.driver.drain();
    driven.step(Occurrence::GraceOver);
    driven.step(Occurrence::Unbegun { key });
    let commands = driven.go_on();
    let (_, queue, effect) = driven.only_work(&commands);
    assert_eq!(queue, "here");
    assert!(matches!(effect, Effect::Start { .. }), "{effect:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loss_of_a_worker_interrupts_the_attempt() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let commands = driven.begin();
    let (key, ..) = driven.only_work(&commands);
    driven.step(Occurrence::Lost { key });
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Failed));
    // It is no news that comes twice.
    assert!(driven.step(Occurrence::Lost { key }).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_before_it_begins_ends() {
    let mut driven = Driven::new("  - {id: a, run: 'true'}\n");
    let at = driven.now();
    let commands = driven.driver.begin(at).unwrap();
    assert!(driven.step(Occurrence::Cancel("nobody wants it".into())).is_empty());
    let [DriverCommand::Work { key, .. }] = commands.as_slice() else { panic!("{commands:?}") };
    let commands = driven.report(*key, vec![begin()], false);
    let works = commands.iter().filter_map(|command| match command {
        DriverCommand::Work { key, .. } => Some(*key),
        _ => None,
    });
    for key in works.collect::<Vec<_>>() {
        driven.step(Occurrence::Unbegun { key });
    }
    assert_eq!(driven.driver.outcome(), Some(RunOutcome::Cancelled));
}
