//! What a workflow decides is a function of its history: however that is cut into batches, and whoever asks between them, it
//! wants the same in the same order, and records the same events at the same times.
//!
//! `WF_TEST_SEED` is another seed than 0, and `WF_TEST_STORIES` the number of histories.

use std::collections::BTreeMap;

use wf_base::time::Moment;
use wf_core::machine::{AttemptEnd, InputKind, LOGIC_VERSION, WorkExit};
use wf_temporal::findings::FindingSource;
use wf_temporal::objects::Objects;
use wf_temporal::order::{Job, Parcel, RunOrder, RunSpec, UnstoredLog, WorkOrder, WorkReport};

use crate::crashes::{choose, setting};
use crate::driven::{Driven, begin, driven_run, ended};
use crate::replica::{Event, Pending, Replica, Wanted};

/// The mark of histories whose ends are taken in their order.
const MARK: &str = "wf-by-history";

/// A plan with chains beside each other, one of which tries again after a while, and a step after all.
const STEPS: &str = r"  - {id: p, run: 'true', runs_on: gpu}
  - {id: q, run: 'true', runs_on: gpu}
  - {id: pd, depends_on: [p], run: 'true', runs_on: gpu}
  - {id: qd, depends_on: [q], run: 'true', runs_on: gpu}
  - {id: flaky, run: 'true', idempotent: true, retry: {max: 3, backoff: 1s}}
  - {id: each, for_each: [1, 2, 3], run: 'true'}
  - {id: last, depends_on: [pd, qd, flaky, each], run: 'true'}
";

/// A workflow task: when it began, what had happened before it, and what the workflow wanted then.
struct Task {
    millis: u64,
    events: Vec<Event>,
    wanted: Vec<String>,
}

/// The history of a run.
struct Story {
    objects: Objects,
    order: RunOrder,
    mark: Option<&'static str>,
    tasks: Vec<Task>,
    /// The events that it recorded, with their times.
    log: Vec<serde_json::Value>,
    _driven: Driven,
}

/// A way to cut a batch: after which of its events, and whether the task in whose middle it was cut began and was lost.
#[derive(Clone, Copy, Debug)]
struct Cut {
    task: usize,
    after: usize,
    is_begun: bool,
}

impl Story {
    /// Runs the plan, with ends in an order and in batches that a seed selects.
    fn of(seed: u64, mark: Option<&'static str>) -> Self {
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
        let mut story = Self { objects, order, mark, tasks: Vec::new(), log: Vec::new(), _driven: driven };
        story.happen(seed);
        story
    }

    fn replica(&self) -> Replica {
        Replica::new(&self.objects, &self.order, self.mark)
    }

    fn happen(&mut self, seed: u64) {
        let (mut replica, mut pending, mut millis, mut draws) = (self.replica(), Pending::default(), 1000, 0);
        let mut draw = |count| {
            draws += 1;
            choose(seed, draws, count)
        };
        let mut events = Vec::new();
        while !pending.is_over {
            let wanted = replica.tell(millis, &events);
            self.tasks.push(Task { millis, events, wanted: wanted.iter().map(Wanted::compared).collect() });
            pending.add(wanted);
            events = Vec::new();
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

    /// Replays it with some cuts, at each of which somebody asks for news. Returns the first difference.
    fn replay(&self, cuts: &[Cut]) -> Result<(), String> {
        let (mut replica, mut before) = (self.replica(), 0);
        for (number, task) in self.tasks.iter().enumerate() {
            let (mut wanted, mut begin) = (Vec::new(), 0);
            for cut in cuts.iter().filter(|cut| cut.task == number) {
                let millis = if cut.is_begun { task.millis - 1 } else { before };
                wanted.extend(replica.tell(millis, &task.events[begin..cut.after]));
                replica.news(millis);
                begin = cut.after;
            }
            wanted.extend(replica.tell(task.millis, &task.events[begin..]));
            let wanted: Vec<_> = wanted.iter().map(Wanted::compared).collect();
            if wanted != task.wanted {
                return Err(format!("task {number} with {cuts:?}: {wanted:?} is not {:?}", task.wanted));
            }
            before = task.millis;
        }
        let log = log_of(&mut replica, &self.objects, before);
        if log == self.log { Ok(()) } else { Err(format!("with {cuts:?}: {log:#?} is not {:#?}", self.log)) }
    }

    /// Returns all ways to cut one task, and one way to cut all of them.
    fn cuts(&self) -> Vec<Vec<Cut>> {
        let mut ways = Vec::new();
        let all = |task: usize, is_begun| {
            let places = 1..=self.tasks[task].events.len();
            places.map(move |after| Cut { task, after, is_begun }).collect::<Vec<_>>()
        };
        for is_begun in [false, true] {
            for task in 1..self.tasks.len() {
                let places = all(task, is_begun);
                for subset in 1_usize..1 << places.len() {
                    let chosen = places.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1);
                    ways.push(chosen.map(|(_, cut)| *cut).collect());
                }
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
            attempt if attempt.place.step.as_str() == "flaky" && fails && attempt.attempt < 3 => {
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
    assert_eq!(news.log.count, 0, "all of it is news");
    let log: UnstoredLog = news.rest.open_now(objects).unwrap();
    log.entries.iter().map(|entry| serde_json::to_value(&entry.event).unwrap()).collect()
}

/// Returns the time of an event.
pub fn millis_of(event: &serde_json::Value) -> i64 {
    serde_json::from_value::<Moment>(event["at"].clone()).unwrap().millis()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_is_decided_the_same_way_in_every_split() {
    let (first, count) = (setting("WF_TEST_SEED", 0), setting("WF_TEST_STORIES", 4));
    for seed in first..first + count {
        let story = Story::of(seed, Some(MARK));
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
    let stories: Vec<_> = (0..4).map(|seed| Story::of(seed, None)).collect();
    assert!(stories.iter().all(|story| story.replay(&[]).is_ok()));
    let differ = |story: &Story| story.cuts().iter().any(|cuts| story.replay(cuts).is_err());
    assert!(stories.iter().any(differ), "this would notice no difference");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_begins_after_the_end_of_what_it_depends_on_and_lasts_as_long_as_its_work() {
    for seed in 0..4 {
        let story = Story::of(seed, Some(MARK));
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
            Event::Timer(_) => None,
        });
        let mut reported: Vec<i64> = reports.collect();
        reported.remove(0);
        let recorded = story.log.iter().filter(|event| event["event"] == "attempt_ended");
        assert_eq!(recorded.map(millis_of).collect::<Vec<_>>(), reported, "seed {seed}");
    }
}
