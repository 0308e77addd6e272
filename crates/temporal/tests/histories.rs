//! The histories of some runs: what a workflow decides about them now is what was decided then. Runs on a server are under
//! way while their workers are replaced by later versions, which have to go on with what earlier ones began.
//!
//! Each run is stored with the objects that it refers to in `tests/histories`, and replayed without a server. To record
//! them anew, with a server: `WF_UPDATE=1 cargo nextest run --workspace -E 'test(histories)' --run-ignored all`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporalio_client::{WorkflowExecutionInfo, WorkflowFetchHistoryOptions, WorkflowHistory};
use temporalio_common::protos::temporal::api::history::v1::{
    History, HistoryEvent, history_event::Attributes,
};
use temporalio_sdk::workflow_replayer::{
    WorkflowReplayError, WorkflowReplayFailure, WorkflowReplayer, WorkflowReplayerOptions,
};

use wf_app::config::{TemporalBackend, TlsFiles};
use wf_temporal::{RunPlans, connect, goal_workflow::GoalWorkflow, objects::Objects, workflow::RunWorkflow};

use crate::{
    deployed_goals,
    farm::Farm,
    programs::{Did, signal},
};

/// A run as it is stored.
#[derive(Serialize, Deserialize)]
pub struct RecordedRun {
    /// The histories of its workflows, in order.
    pub histories: Vec<History>,
    /// The objects that they refer to, by their paths in the object store. All are text.
    objects: BTreeMap<PathBuf, String>,
}

impl RecordedRun {
    /// Returns the stored run with a name, and puts the objects that it refers to in a folder.
    pub fn unpack(name: &str, folder: &Path) -> Self {
        let run = Self::read(&Path::new(FOLDER).join(format!("{name}.json")));
        run.put_objects(folder);
        run
    }

    pub fn objects_with<'r>(&'r self, key: &'r str) -> impl Iterator<Item = &'r str> {
        let has = move |text: &&str| serde_json::from_str::<Value>(text).unwrap().get(key).is_some();
        self.objects.values().map(String::as_str).filter(has)
    }

    fn put_objects(&self, folder: &Path) {
        for (path, text) in &self.objects {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    /// Reads a run that was stored.
    fn read(path: &Path) -> Self {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    /// Returns a run of a farm.
    pub async fn of(farm: &Farm, run: &str) -> Self {
        Self { histories: histories(farm, run).await, objects: json_below(&farm.path("objects")) }
    }

    /// Has the workflow of this version decide about the run again.
    pub async fn replay(&self) -> Result<(), WorkflowReplayError> {
        let folder = tempfile::tempdir().unwrap();
        self.put_objects(folder.path());
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        let plans = Arc::new(RunPlans::default());
        let (shared, own) = (objects.clone(), Arc::clone(&plans));
        let create = move || RunWorkflow::new(shared.clone(), Arc::clone(&own));
        let options = WorkflowReplayerOptions::new();
        let options = options.register_workflow_with_factory::<RunWorkflow, _>(create).unwrap();
        let create = move || GoalWorkflow::new(objects.clone(), Arc::clone(&plans));
        let options = options.register_workflow_with_factory::<GoalWorkflow, _>(create).unwrap();
        let replayer = WorkflowReplayer::new(options.build())?;
        for history in &self.histories {
            replayer.replay_workflow(WorkflowHistory::from(history.clone())).await?;
        }
        Ok(())
    }

    fn events(&mut self) -> impl Iterator<Item = &mut Attributes> {
        let events = self.histories.iter_mut().flat_map(|history| &mut history.events);
        events.filter_map(|event| event.attributes.as_mut())
    }
}

/// Returns the histories of the workflows of a run, in order.
pub async fn histories(farm: &Farm, run: &str) -> Vec<History> {
    let backend = TemporalBackend {
        address: farm.server.address(),
        namespace: "default".into(),
        key: None,
        tls: TlsFiles::default(),
    };
    let client = connect(&backend, &farm.path("space"), None, "test".into()).await.unwrap();
    let mut chain = Vec::new();
    let mut next = None;
    loop {
        let info = WorkflowExecutionInfo::builder().namespace("default").workflow_id(run);
        let info = info.maybe_run_id(next).build();
        let history = info.bind_untyped(client.clone()).fetch_history(WorkflowFetchHistoryOptions::default());
        let events: Vec<HistoryEvent> = history.into_events().await.unwrap();
        let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = &events[0].attributes else {
            panic!("a history begins with its start: {:?}", events[0]);
        };
        let before = started.continued_execution_run_id.clone();
        chain.insert(0, History { events });
        if before.is_empty() {
            return chain;
        }
        next = Some(before);
    }
}

/// Returns the files of JSON below a folder, by their paths in it: a workflow reads no others.
fn json_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    let json = |path: &Path| {
        let text = std::fs::read_to_string(path).ok()?;
        serde_json::from_str::<Value>(&text).ok()?;
        Some((path.strip_prefix(folder).unwrap().to_owned(), text))
    };
    files.filter(|entry| entry.file_type().is_file()).filter_map(|entry| json(entry.path())).collect()
}

fn stored_runs(folder: &Path) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(folder).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some()).collect();
    paths.sort();
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn what_earlier_versions_decided_is_decided_again() {
    let (paths, earlier) = (stored_runs(Path::new(FOLDER)), stored_runs(&Path::new(FOLDER).join(EARLIER)));
    // A deployed goal decides as it did.
    assert_eq!((paths.len(), earlier.len()), (RUNS.len(), RUNS.len() - 1), "{paths:?}, {earlier:?}");
    for path in paths.into_iter().chain(earlier) {
        let run = RecordedRun::read(&path);
        run.replay().await.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_decision_than_the_recorded_one_is_noticed() {
    let mut other = RecordedRun::read(&stored_runs(Path::new(FOLDER))[0]);
    let ordered = other.events().find_map(|event| match event {
        Attributes::ActivityTaskScheduledEventAttributes(scheduled) => Some(scheduled),
        _ => None,
    });
    ordered.unwrap().activity_id.push_str(" by another version");
    match other.replay().await {
        Err(WorkflowReplayError::Replay(WorkflowReplayFailure::Nondeterminism { .. })) => {}
        result => panic!("{result:?}"),
    }
}

/// A plan, and what happens to a run of it until it is over. Returns the id of its workflow.
type Story = (&'static str, fn(&Farm) -> String);

/// The runs that are stored, by name.
const RUNS: [(&str, Story); 7] = [
    ("approved", (APPROVED, approve)),
    ("cancelled", (CANCELLED, cancel)),
    ("deployed-goal", (PLAIN, keep)),
    ("failed", (FAILED, |farm| end(farm, 1))),
    ("long", (LONG, |farm| end(farm, 0))),
    ("plain", (PLAIN, |farm| end(farm, 0))),
    ("rounds", (ROUNDS, |farm| end(farm, 0))),
];

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_is_decided_about_a_run_is_decided_again() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for (name, (plan, story)) in RUNS {
        // Histories that are short enough to be kept: else, the server begins them anew after some thousand events.
        let mut farm = Farm::with_settings("127.0.0.1", &[SHORT]);
        farm.start_worker("w1");
        farm.plan("plan", plan);
        let id = story(&farm);
        let run = runtime.block_on(RecordedRun::of(&farm, &id));
        let is_long = ["deployed-goal", "long"].contains(&name);
        assert_eq!(run.histories.len() > 1, is_long, "{name}: {} histories", run.histories.len());
        runtime.block_on(run.replay()).unwrap_or_else(|error| panic!("{name}: {error}"));
        if std::env::var_os("WF_UPDATE").is_some() {
            std::fs::create_dir_all(FOLDER).unwrap();
            std::fs::write(Path::new(FOLDER).join(format!("{name}.json")), serde_json::to_vec(&run).unwrap())
                .unwrap();
        }
    }
}

/// Runs the plan to its end.
fn end(farm: &Farm, code: i32) -> String {
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(code);
    farm.run()
}

/// Runs the plan, and approves what it asks for.
fn approve(farm: &Farm) -> String {
    farm.wf(&["run", "--on", "farm", "plan.md"]).exits(5);
    let run = farm.run();
    farm.wf(&["approve", &run, "--yes"]).exits(0);
    farm.wf(&["resume", &run]).exits(0);
    run
}

/// Runs the plan, and cancels it once its step is under way.
fn cancel(farm: &Farm) -> String {
    let run = farm.start(&["run", "--on", "farm", "plan.md"]);
    farm.until_started();
    signal("INT", run.id());
    Did::ended(run).exits(130);
    farm.run()
}

/// Deploys a goal, and recalls it after some reconciliations. Returns the id of its workflow.
fn keep(farm: &Farm) -> String {
    deployed_goals::goal(farm, &deployed_goals::step(""));
    deployed_goals::deploy(farm, "1");
    deployed_goals::until_more_runs(farm, 6);
    for act in ["pause", "resume", "recall"] {
        farm.wf(&["goal", act, "sum"]).exits(0);
    }
    deployed_goals::workflows(farm, "wf.goal.v1").remove(0).0
}

/// A setting of the server: histories begin anew after a few events.
pub const SHORT: &str = "limit.historyCount.suggestContinueAsNew=60";

/// The folder in that of stored runs with those whose ends are taken by their numbers. They are not recorded anew.
const EARLIER: &str = "by-number";

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/histories");

const PLAIN: &str = r#"policy: {max_parallel: 2}
steps:
  - id: make
    run: echo made > made.txt; echo 'names=["a","b","c"]' >> "$WF_OUTPUT"
    outputs: {names: {type: array, items: {type: string}}}
    artifacts: [made.txt]
    verify: [{name: made, run: cat made.txt, expect: {equals: made}}]
  - {id: each, depends_on: [make], for_each: steps.make.outputs.names, run: echo "$WF_ITEM"}
finally:
  - {id: clean, run: rm made.txt}"#;

const FAILED: &str = r"steps:
  - {id: wrong, run: exit 3, retry: {max: 2, backoff: 10ms}}
  - {id: never, depends_on: [wrong], run: echo never}
finally:
  - {id: clean, run: echo cleaned}";

const ROUNDS: &str = r"replan: {max_replans: 3, strict: true}
steps:
  - id: fetch
    target: here
    run: exit 7
    alternatives:
      - {id: near, target: there, run: echo got > got.txt}
    artifacts: [got.txt]
    verify: [{name: got, run: cat got.txt, expect: {equals: got}}]";

const APPROVED: &str = r#"steps:
  - {id: first, run: echo first > first.txt, artifacts: [first.txt]}
  - id: ok
    depends_on: [first]
    approve: {message: "Go on?", timeout: 10m}
  - {id: last, depends_on: [ok], run: cat first.txt}"#;

const CANCELLED: &str = r"steps:
  - {id: lasts, run: sleep 600}
finally:
  - {id: clean, run: echo cleaned}";

/// It has a step that lasts longer than the grace period of a history, and steps that wait for the next history.
const LONG: &str = r"policy: {max_parallel: 3}
steps:
  - {id: lasts, run: sleep 8}
  - {id: each, for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], run: echo $WF_ITEM}";
