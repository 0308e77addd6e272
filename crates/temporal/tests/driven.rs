//! A run on a backend whose workers, server and clock are the test.

use std::{collections::BTreeMap, sync::Arc};

use wf_app::{RunOptions, load::collect_plan};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
    time::Moment,
};
use wf_core::{
    agent::{StopReason, authoring::MemoryCalibration},
    machine::{
        AgentBriefing, Attempt, AttemptEnd, CallEffort, Effect, InputKind, LOGIC_VERSION, ModelCallEnd,
        ModelCallOutcome, ModelLimits, RequestedTool, TaskId, WorkExit,
    },
};
use wf_engine::{NestedRun, RetriedResults};
use wf_lang::InMemoryFiles;
use wf_model::{AgentEngine, JsonObject, Plan};
use wf_sign::approval::Approvers;
use wf_temporal::{
    command::{DriverCommand, Occurrence},
    driver::RunDriver,
    findings::FindingSource,
    objects::Objects,
    order::{Job, NestedRunBeginning, OpenReport, RunOrder, RunSpec, WorkOrder},
    tree::Tree,
};

/// A run whose workers are the test.
pub struct Driven {
    pub driver: RunDriver,
    pub objects: Objects,
    pub spec: Arc<RunSpec>,
    pub plan: Arc<Plan>,
    at: i64,
    _folder: tempfile::TempDir,
}

impl Driven {
    /// A run of a plan with some steps, before anything has happened.
    pub fn new(steps: &str) -> Self {
        Self::with(steps, &[])
    }

    /// A run of a plan that uses others, given the steps of each.
    pub fn with(steps: &str, others: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let text = |(id, steps): &(&str, &str)| {
            let text = format!("---\nkind: plan\nid: {id}\nsteps:\n{steps}---\n# A plan\n\n## a\n\nDo it.\n");
            (format!("{id}.md"), text.into_bytes())
        };
        let plans = [("plan", steps)];
        let config = "models: {small: {api: scripted, model: replies.yaml}}\nroles: {executor: small}\n";
        let config = ("wf.yaml".to_owned(), config.as_bytes().to_vec());
        let files = InMemoryFiles(plans.iter().chain(others).map(text).chain([config]).collect());
        let plan = collect_plan(&files, "plan.md", RunOptions::default()).unwrap();
        let spec = Arc::new(RunSpec {
            logic_version: LOGIC_VERSION,
            path: "plan.md".into(),
            sources: Vec::new(),
            params: JsonObject::new(),
            approved: None,
            approvers: Approvers::owner(Vec::new()),
            config: serde_json::Value::Null,
            opening: Vec::new(),
            retried: RetriedResults::default(),
            conversations: None,
            state: None,
            state_folder: ".wf".into(),
            is_repository: false,
            tree: objects.put_json_now(&Tree::default()).unwrap(),
            queues: BTreeMap::from(
                [("default", "here"), ("gpu", "there")].map(|(name, queue)| (name.into(), queue.into())),
            ),
        });
        let order = RunOrder { run: driven_run(), spec: spec.tree, progress: None };
        let driver = RunDriver::open(order, Arc::clone(&spec), Arc::clone(&plan), objects.clone()).unwrap();
        Self { driver, objects, spec, plan, at: 0, _folder: folder }
    }

    pub fn now(&mut self) -> Moment {
        self.at += 1;
        Moment::from_millis(self.at)
    }

    pub fn step(&mut self, occurrence: Occurrence) -> Vec<DriverCommand> {
        let at = self.now();
        self.driver.step(at, occurrence).unwrap()
    }

    /// Begins the run, in an empty workspace.
    pub fn begin(&mut self) -> Vec<DriverCommand> {
        let at = self.now();
        let commands = self.driver.begin(at).unwrap();
        let [DriverCommand::Work { key, .. }] = commands.as_slice() else { panic!("{commands:?}") };
        self.report(*key, vec![begin()], false)
    }

    /// Reports work, which is left or has ended.
    pub fn report(&mut self, key: u64, inputs: Vec<InputKind>, is_left: bool) -> Vec<DriverCommand> {
        let report = Box::new(report_of(inputs, is_left));
        self.step(Occurrence::Reported { key, report })
    }

    /// Reports which run an attempt is.
    pub fn report_nested(&mut self, key: u64, nested: NestedRun) -> Vec<DriverCommand> {
        let nested = Some(NestedRunBeginning { nested, input: begin() });
        let report = Box::new(OpenReport { nested, ..report_of(Vec::new(), false) });
        self.step(Occurrence::Reported { key, report })
    }

    /// Goes on in the next workflow.
    pub fn go_on(&mut self) -> Vec<DriverCommand> {
        assert!(self.driver.is_idle());
        let order = self.driver.store().unwrap();
        let (spec, plan) = (Arc::clone(&self.spec), Arc::clone(&self.plan));
        self.driver = RunDriver::open(order, spec, plan, self.objects.clone()).unwrap();
        let at = self.now();
        self.driver.begin(at).unwrap()
    }

    pub fn works(&self, commands: &[DriverCommand]) -> Vec<(u64, WorkOrder, Job)> {
        let works = commands.iter().filter_map(|command| match command {
            DriverCommand::Work { key, order, .. } => Some((*key, (**order).clone())),
            _ => None,
        });
        works.map(|(key, order)| (key, order.clone(), order.job.open_now(&self.objects).unwrap())).collect()
    }

    /// Returns the only work that is ordered: its number, its queue and its effect.
    pub fn only_work(&self, commands: &[DriverCommand]) -> (u64, String, Effect) {
        let [DriverCommand::Work { key, queue, order, .. }] = commands else { panic!("{commands:?}") };
        let job: Job = order.job.clone().open_now(&self.objects).unwrap();
        let Job::Effect(effect) = job else { panic!("{job:?}") };
        (*key, queue.clone(), *effect)
    }
}

pub fn driven_run() -> RunId {
    RunId::from_bytes([7; 16])
}

/// A report of work that changed nothing.
pub fn report_of(inputs: Vec<InputKind>, is_left: bool) -> OpenReport {
    let (source, host) = (FindingSource::default(), "wf-host-w".to_owned());
    let (files, additions) = (Vec::new(), Vec::new());
    OpenReport { inputs, nested: None, source, files, additions, host, is_left, ended: None }
}

/// The input with which a run begins in an empty workspace.
pub fn begin() -> InputKind {
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

/// The end of an attempt that went well.
pub fn ended(effect: &Effect) -> InputKind {
    InputKind::Ended(AttemptEnd::new(effect.attempt().unwrap(), WorkExit::Code { code: 0 }))
}

/// The briefing of the agent of step `a`.
pub fn briefed() -> InputKind {
    let attempt = Attempt { task_id: TaskId::of_step(&Name::parse("a").unwrap()), attempt: 1 };
    let briefing = AgentBriefing {
        attempt,
        model: Name::parse("small").unwrap(),
        engine: AgentEngine::Builtin,
        untrusted: None,
        conversation: None,
        calibration: MemoryCalibration::default(),
        interaction: None,
        compactor: None,
        request: Sha256Digest::of_bytes(b"request"),
        limits: ModelLimits {
            first_input: 10,
            context_window: 1000,
            max_output: 10,
            ..ModelLimits::default()
        },
    };
    InputKind::Briefed { briefing: Box::new(briefing), mistake: None }
}

/// The first reply of the model of an agent, which calls some tools, or answers.
pub fn replied(agent: &Effect, tool_calls: Vec<RequestedTool>) -> InputKind {
    let stop = if tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
    let (model, reply) = (Name::parse("small").unwrap(), Sha256Digest::of_bytes(b"reply"));
    let outcome = ModelCallOutcome::Replied { model, reply, stop, reply_tokens: 5, tool_calls };
    let (attempt, effort) = (agent.attempt().unwrap(), CallEffort::of_one_request());
    let end = ModelCallEnd { attempt, call: 1, outcome, answered_by: None, effort };
    InputKind::Replied { end: Box::new(end), mistake: None }
}
