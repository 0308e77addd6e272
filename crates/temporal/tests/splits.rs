//! What a workflow decides is a function of its history: however that is cut into batches, and whoever asks between them, it
//! wants the same in the same order, and records the same events at the same times.
//!
//! `WF_TEST_SEED` is another seed than 0, and `WF_TEST_STORIES` the number of histories.

use std::collections::{BTreeMap, BTreeSet};

use temporalio_common::protos::temporal::api::history::v1::History;

use wf_base::time::Moment;
use wf_core::machine::{AttemptEnd, InputKind, LOGIC_VERSION, WorkExit};
use wf_temporal::{
    findings::FindingSource,
    objects::Objects,
    order::{Job, LogPage, Parcel, RunOrder, RunSpec, UnstoredLog, WorkOrder, WorkReport},
};

use crate::{
    crashes::{choose, setting},
    driven::{Driven, begin, driven_run, ended},
    histories::RecordedRun,
    recorded::{Task, tasks_of},
    replica::{Event, Pending, Replica, Wanted},
};

/// The number of ends in a batch that is cut in all ways.
const MANY: usize = 5;

/// A plan with chains beside each other, one of which tries again after a while, and a step after all.
const STEPS: &str = r"  - {id: p, run: 'true', runs_on: gpu}
  - {id: q, run: 'true', runs_on: gpu}
  - {id: pd, depends_on: [p], run: 'true', runs_on: gpu}
  - {id: qd, depends_on: [q], run: 'true', runs_on: gpu}
  - {id: flaky, run: 'true', idempotent: true, retry: {max: 3, backoff: 1s}}
  - {id: each, for_each: [1, 2, 3], run: 'true'}
  - {id: last, depends_on: [pd, qd, flaky, each], run: 'true'}
";

/// The history of a run.
struct Story {
    objects: Objects,
    order: RunOrder,
    tasks: Vec<Task>,
    /// The events that it recorded.
    log: Vec<serde_json::Value>,
    /// True if each end says when it was: one of a worker that was lost does not.
    has_times: bool,
    _driven: Option<Driven>,
}

/// A way to cut a batch: after which of its events, and whether the task in whose middle it was cut began and was lost.
#[derive(Clone, Copy, Debug)]
struct Cut {
    task: usize,
    after: usize,
    is_begun: bool,
}

impl Story {
    /// Runs the plan, with ends in an order and in batches that a seed selects. Ends are taken by history or by number.
    fn of(seed: u64, is_by_history: bool) -> Self {
        let mut story = Self::new();
        story.happen(seed, is_by_history, usize::MAX);
        story
    }

    /// Runs the plan until its history begins anew, as the server suggests from a task on. Somebody asks in the midst of tasks.
    fn begun_anew(seed: u64, long_from: usize) -> Self {
        let mut story = Self::new();
        story.happen(seed, true, long_from);
        story
    }

    /// A run of the plan of which nothing has happened.
    fn new() -> Self {
        let driven = Driven::new(STEPS);
        let text = format!("---\nkind: plan\nid: plan\nsteps:\n{STEPS}---\n# A plan\n");
        let spec = RunSpec {
            logic_version: LOGIC_VERSION,
            sources: vec![("plan.md".into(), text)],
            config: serde_json::json!({}),
            ..(*driven.spec).clone()
        };
        let spec = driven.objects.put_json_now(&spec).unwrap();
        let order = RunOrder { run: driven_run(), spec, progress: None };
        let objects = driven.objects.clone();
        let (tasks, log, driven) = (Vec::new(), Vec::new(), Some(driven));
        Self { objects, order, tasks, log, has_times: true, _driven: driven }
    }

    /// Reads a history of a run. Messages from outside come with the task itself.
    fn recorded(history: &History, objects: Objects) -> Self {
        let (order, tasks) = tasks_of(history);
        let mut story = Self { objects, order, tasks, log: Vec::new(), has_times: false, _driven: None };
        story.log = story.replayed(&[]).unwrap();
        story
    }

    fn happen(&mut self, seed: u64, is_live: bool, long_from: usize) {
        let mut replica = Replica::new(&self.objects, &self.order, is_live);
        let (mut pending, mut before, mut millis, mut draws) = (Pending::default(), 0, 1000, 0);
        let mut draw = |count| {
            draws += 1;
            choose(seed, draws, count)
        };
        let mut events = Vec::new();
        while !pending.is_over {
            let (mut wanted, mut begin) = (Vec::new(), 0);
            if long_from < usize::MAX && !events.is_empty() {
                begin = draw(events.len() + 1);
                wanted.extend(replica.tell(before, &events[..begin]));
                replica.news(before);
            }
            replica.is_long = self.tasks.len() >= long_from;
            wanted.extend(replica.tell(millis, &events[begin..]));
            self.tasks.push(Task::of(millis, events, &wanted, replica.is_long));
            pending.add(wanted);
            (events, before) = (Vec::new(), millis);
            let open = pending.works.len() + pending.timers.len();
            for _ in 0..=draw(open.max(1)).min(open.saturating_sub(1)) {
                millis += 10 + draw(500) as u64;
                let works = pending.works.len();
                match draw((works + pending.timers.len()).max(1)) {
                    place if place < works => {
                        let number = *pending.works.keys().nth(place).unwrap();
                        let order = pending.works.remove(&number).unwrap();
                        let report = report(&order, &self.objects, millis, draw(3) == 0);
                        events.push(Event::Report(number, Box::new(report)));
                    }
                    _ => {
                        let Some((number, time)) = pending.timers.pop_first() else { continue };
                        millis += u64::try_from(time.as_millis()).unwrap();
                        events.push(Event::Timer(number));
                    }
                }
            }
            millis += 5;
        }
        self.log = log_of(&mut replica, &self.objects, millis);
    }

    /// Replays it with some cuts, at each of which somebody asks for news. Returns what it recorded, or the first difference.
    fn replayed(&self, cuts: &[Cut]) -> Result<Vec<serde_json::Value>, String> {
        let mut replica = Replica::new(&self.objects, &self.order, false);
        let mut before = 0;
        for (number, task) in self.tasks.iter().enumerate() {
            let (mut wanted, mut begin) = (Vec::new(), 0);
            for cut in cuts.iter().filter(|cut| cut.task == number) {
                let millis = if cut.is_begun { task.millis - 1 } else { before };
                wanted.extend(replica.tell(millis, &task.events[begin..cut.after]));
                replica.news(millis);
                begin = cut.after;
            }
            replica.is_long = task.is_long;
            let messages = task.messages.iter().chain(&task.events[begin..]).cloned();
            wanted.extend(replica.tell(task.millis, &messages.collect::<Vec<_>>()));
            let wanted: Vec<_> = wanted.iter().map(Wanted::compared).collect();
            if wanted != task.wanted {
                return Err(format!("task {number} with {cuts:?}: {wanted:?} is not {:?}", task.wanted));
            }
            before = task.millis;
        }
        let mut log = log_of(&mut replica, &self.objects, before);
        if !self.has_times {
            for event in &mut log {
                event.as_object_mut().unwrap().remove("at");
            }
        }
        Ok(log)
    }

    /// Replays it with some cuts. Returns the first difference.
    fn replay(&self, cuts: &[Cut]) -> Result<(), String> {
        let log = self.replayed(cuts)?;
        if log == self.log { Ok(()) } else { Err(format!("with {cuts:?}: {log:#?} is not {:#?}", self.log)) }
    }

    /// Returns all ways to cut one task, of a long one all ways to cut it once, and one way to cut all of them.
    fn cuts(&self) -> Vec<Vec<Cut>> {
        let mut ways = Vec::new();
        let all = |task: usize, is_begun| {
            // Cut after its last end, the task that first suggests to begin anew tells nobody: that is noted after the next one.
            let is_first = self.tasks[task].is_long && !self.tasks[task - 1].is_long;
            let places = 1..=self.tasks[task].events.len() - usize::from(is_first);
            places.map(move |after| Cut { task, after, is_begun }).collect::<Vec<_>>()
        };
        for is_begun in [false, true] {
            for task in 1..self.tasks.len() {
                let places = all(task, is_begun);
                for subset in 1_usize..1 << places.len().min(MANY) {
                    let chosen = places.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1);
                    ways.push(chosen.map(|(_, cut)| *cut).collect());
                }
                ways.extend(places.into_iter().skip(MANY).map(|cut| vec![cut]));
            }
            ways.push((1..self.tasks.len()).flat_map(|task| all(task, is_begun)).collect());
        }
        ways
    }
}

/// Returns the report about some work that ended at an instant.
fn report(order: &WorkOrder, objects: &Objects, millis: u64, fails: bool) -> WorkReport {
    let input = match order.job.clone().open_now(objects).unwrap() {
        Job::Begin => begin(),
        Job::Effect(effect) => match effect.attempt().unwrap() {
            attempt if attempt.task_id.step.as_str() == "flaky" && fails && attempt.attempt < 3 => {
                InputKind::Ended(AttemptEnd::new(attempt, WorkExit::Code { code: 1 }))
            }
            _ => ended(&effect),
        },
        job => panic!("{job:?}"),
    };
    WorkReport {
        inputs: Parcel::Inline(serde_json::to_value([input]).unwrap()),
        nested: None,
        source: FindingSource::default(),
        files: Vec::new(),
        additions: None,
        host: "wf-host-w".into(),
        is_left: false,
        ended: Some(Moment::from_millis(i64::try_from(millis).unwrap())),
    }
}

/// Returns the events that a run has recorded.
fn log_of(replica: &mut Replica, objects: &Objects, millis: u64) -> Vec<serde_json::Value> {
    let news = replica.news(millis).unwrap();
    let (mut pages, mut next) = (Vec::new(), news.log);
    while let Some(digest) = next.last {
        let page: LogPage = objects.get_json_now(&digest).unwrap();
        next = page.before;
        pages.push(page.entries);
    }
    let rest: UnstoredLog = news.rest.open_now(objects).unwrap();
    let entries = pages.into_iter().rev().flatten().chain(rest.entries);
    entries.map(|entry| serde_json::to_value(&entry.event).unwrap()).collect()
}

/// Asserts that the history of a run is decided the same way in every split.
pub fn assert_splits(history: &History, objects: Objects) {
    let story = Story::recorded(history, objects);
    for cuts in story.cuts() {
        story.replay(&cuts).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

/// Returns the time of an event.
pub fn millis_of(event: &serde_json::Value) -> i64 {
    serde_json::from_value::<Moment>(event["at"].clone()).unwrap().millis()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_begins_anew_is_decided_again_wherever_that_was_noted() {
    let mut noted = BTreeSet::new();
    for (seed, long_from) in (0..12).flat_map(|seed| [2, 4].map(|from| (seed, from))) {
        let story = Story::begun_anew(seed, long_from);
        story.replay(&[]).unwrap_or_else(|difference| panic!("seed {seed} from {long_from}: {difference}"));
        let is_noted = |task: &Task| task.wanted.iter().any(|wanted| wanted.starts_with("mark wf-long-"));
        noted.insert(story.tasks.iter().position(is_noted).map(|task| task - long_from));
    }
    assert!(noted.contains(&Some(0)) && noted.contains(&Some(1)), "at once, and one task later: {noted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_histories_are_decided_the_same_way_in_every_split() {
    for name in ["approved", "cancelled", "failed", "long", "plain", "rounds"] {
        let folder = tempfile::tempdir().unwrap();
        let run = RecordedRun::unpack(name, folder.path());
        let objects = Objects::open(&format!("file://{}", folder.path().display())).unwrap();
        for history in &run.histories {
            assert_splits(history, objects.clone());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_is_decided_the_same_way_in_every_split() {
    let (first, count) = (setting("WF_TEST_SEED", 0), setting("WF_TEST_STORIES", 4));
    for seed in first..first + count {
        let story = Story::of(seed, true);
        let ways = story.cuts();
        assert!(ways.len() > 20, "{} ways", ways.len());
        for cuts in ways {
            story.replay(&cuts).unwrap_or_else(|difference| panic!("seed {seed}: {difference}"));
        }
    }
}

/// What the order of numbers is for: histories of earlier versions, which are replayed as they were decided.
#[tokio::test(flavor = "multi_thread")]
async fn by_number_a_history_is_decided_the_same_way_without_splits_alone() {
    let stories: Vec<_> = (0..4).map(|seed| Story::of(seed, false)).collect();
    assert!(stories.iter().all(|story| story.replay(&[]).is_ok()));
    let differ = |story: &Story| story.cuts().iter().any(|cuts| story.replay(cuts).is_err());
    assert!(stories.iter().any(differ), "this would notice no difference");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_begins_after_the_end_of_what_it_depends_on_and_lasts_as_long_as_its_work() {
    for seed in 0..4 {
        let story = Story::of(seed, true);
        assert!(
            story.log.windows(2).all(|pair| millis_of(&pair[0]) <= millis_of(&pair[1])),
            "{:#?}",
            story.log
        );
        let mut ends = BTreeMap::new();
        for event in &story.log {
            let step = event["step"].as_str().unwrap_or_default();
            match event["event"].as_str().unwrap() {
                "attempt_ended" => drop(ends.insert(step.to_owned(), millis_of(event))),
                "attempt_started" => {
                    let depends: &[&str] = match step {
                        "pd" => &["p"],
                        "qd" => &["q"],
                        "last" => &["pd", "qd", "flaky", "each"],
                        _ => &[],
                    };
                    assert!(depends.iter().all(|earlier| ends[*earlier] <= millis_of(event)), "{event}");
                }
                _ => {}
            }
        }
        let reports = story.tasks.iter().flat_map(|task| &task.events).filter_map(|event| match event {
            Event::Report(_, report) => report.ended.map(Moment::millis),
            _ => None,
        });
        let mut reported: Vec<i64> = reports.collect();
        reported.remove(0);
        let recorded = story.log.iter().filter(|event| event["event"] == "attempt_ended");
        assert_eq!(recorded.map(millis_of).collect::<Vec<_>>(), reported, "seed {seed}");
    }
}
