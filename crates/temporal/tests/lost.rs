//! Runs whose drivers die: what was decided is decided again by whoever goes on, and a run that nobody can continue is ended.
//!
//! A seed selects who dies and when. `WF_TEST_SEED` is another seed than 0, and `WF_TEST_KILLS` the number of kills.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowTaskFailedCause, history::v1::history_event::Attributes,
};

use wf_temporal::objects::Objects;

use crate::{
    crashes::{choose, setting},
    deaths::assert_whole,
    farm::Farm,
    histories::{RecordedRun, histories},
    programs::{Did, until},
    splits::{assert_splits, millis_of},
};

/// Two chains on a host of their own, beside which nothing is to be decided.
const CHAINS: &str = r"steps:
  - {id: p, runs_on: w1, run: LASTS}
  - {id: q, runs_on: w1, run: LASTS}
  - {id: pd, runs_on: w1, depends_on: [p], run: LASTS}
  - {id: qd, runs_on: w1, depends_on: [q], run: LASTS}";

/// A step that leaves a mark when it begins, and lasts until there is another one.
const LASTS: &str = "'touch \"MARKS/$WF_STEP\"; until [ -e \"MARKS/go-$WF_STEP\" ]; do sleep 0.05; done'";

/// A time before the one after which the server gives the workflow task of a worker that is gone to any other.
const BEFORE_ANY: Duration = Duration::from_millis(8500);

fn marks(farm: &Farm) -> PathBuf {
    let marks = farm.path("marks");
    std::fs::create_dir_all(&marks).unwrap();
    marks
}

fn let_go(marks: &Path, step: &str) {
    std::fs::write(marks.join(format!("go-{step}")), "").unwrap();
}

/// Returns the number of workflow tasks of a run that failed since a worker decided otherwise than recorded.
fn contradictions(farm: &Farm, run: &str) -> usize {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let events = runtime.block_on(histories(farm, run)).into_iter().flat_map(|history| history.events);
    let is_contradiction = |event: &Option<Attributes>| match event {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => {
            failed.cause() == WorkflowTaskFailedCause::NonDeterministicError
        }
        _ => false,
    };
    events.filter(|event| is_contradiction(&event.attributes)).count()
}

/// Asserts that a run, which got no messages from outside, is decided again as it was decided, in every split.
pub fn assert_replays(farm: &Farm, run: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let replayed = RecordedRun::of(farm, run).await.replay().await;
        replayed.unwrap_or_else(|error| panic!("{run}: {error}"));
        let objects = Objects::open(&farm.objects).unwrap();
        for history in histories(farm, run).await {
            assert_splits(&history, objects.clone());
        }
    });
    assert_eq!(contradictions(farm, run), 0, "{run}");
}

/// Asserts that no step of a run began before what it depends on had ended, and that each lasted some time.
fn assert_times(farm: &Farm, run: &str, pairs: &[(&str, &str)], millis: i64) {
    let events = farm.events(run);
    let at = |name: &str, step: &str| {
        let event = events.iter().find(|event| event["event"] == name && event["step"] == step);
        event.unwrap_or_else(|| panic!("no {name} of {step}: {events:#?}"))
    };
    let at = |name: &str, step: &str| millis_of(at(name, step));
    for (earlier, later) in pairs {
        assert!(
            at("attempt_ended", earlier) <= at("attempt_started", later),
            "{earlier}, {later}: {events:#?}"
        );
        for step in [earlier, later] {
            assert!(at("attempt_ended", step) - at("attempt_started", step) >= millis, "{step}: {events:#?}");
        }
    }
    assert!(events.windows(2).all(|pair| millis_of(&pair[0]) <= millis_of(&pair[1])), "{events:#?}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_whose_drivers_die_while_ends_pile_up_goes_on() {
    let mut farm = Farm::at("127.0.0.1");
    let marks = marks(&farm);
    farm.plan("chains", &CHAINS.replace("LASTS", LASTS).replace("MARKS", marks.to_str().unwrap()));
    farm.start_worker_of("w1", "w1");
    farm.start_worker_of("a", "default");
    let run = farm.start(&["run", "--on", "farm", "chains.md"]);
    until("both begin", || marks.join("p").exists() && marks.join("q").exists());
    farm.start_worker_of("b", "default");
    farm.kill_host("a");
    std::thread::sleep(Duration::from_secs(3));
    // Nobody is told of it for a while: the server waits for the one that was killed. Who follows asks meanwhile.
    let_go(&marks, "q");
    std::thread::sleep(BEFORE_ANY);
    let_go(&marks, "p");
    until("both go on", || marks.join("pd").exists() && marks.join("qd").exists());
    std::thread::sleep(Duration::from_secs(1));
    farm.kill_host("b");
    farm.start_worker_of("c", "default");
    for step in ["pd", "qd"] {
        let_go(&marks, step);
    }
    let followed = Did::ended(run);
    assert_eq!(followed.code, Some(0), "{}{}", followed.all(), farm.log("c"));
    let id = farm.run();
    assert_whole(&farm, &id);
    assert_replays(&farm, &id);
    assert_times(&farm, &id, &[("p", "pd"), ("q", "qd")], 1000);
}

/// Chains of short steps beside each other, which may all be interrupted.
const MANY: &str = r"policy: {max_parallel: 8}
steps:
  - {id: a, for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], run: 'sleep 0.4; echo $WF_ITEM > a$WF_ITEM', idempotent: true, retry: RETRY}
  - {id: b, run: 'sleep 0.9', idempotent: true, retry: RETRY}
  - {id: c, depends_on: [b], for_each: [1, 2, 3, 4, 5, 6, 7, 8], run: 'sleep 0.$WF_ITEM', idempotent: true, retry: RETRY}
  - {id: d, depends_on: [a, c], run: 'cat a1 a16', idempotent: true, retry: RETRY}";

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn whichever_drivers_are_killed_a_run_is_decided_as_its_history_says() {
    let (seed, kills) = (setting("WF_TEST_SEED", 0), usize::try_from(setting("WF_TEST_KILLS", 3)).unwrap());
    let mut farm = Farm::at("127.0.0.1");
    farm.plan("many", &MANY.replace("RETRY", "{max: 20, on: [interrupted], backoff: 10ms}"));
    for name in ["w1", "w2"] {
        farm.start_worker(name);
    }
    let (mut number, mut id) = (0, String::new());
    while number < kills {
        let (run, before) = (farm.start(&["run", "--on", "farm", "many.md"]), id.clone());
        until("it is recorded", || {
            id = farm.run();
            id != before
        });
        for _ in 0..3.min(kills - number) {
            number += 1;
            let progress = farm.count(&id, "step_ended", None) + 1 + choose(seed, number, 4);
            until("it goes on", || {
                farm.count(&id, "step_ended", None) >= progress || farm.count(&id, "run_ended", None) > 0
            });
            let victim = ["w1", "w2"][choose(seed, number + kills, 2)];
            eprintln!("kill {number} of seed {seed}: {victim}, after {progress} steps");
            assert!(!farm.log(victim).contains("TMPRL1100"), "{}", farm.log(victim));
            farm.kill_host(victim);
            farm.start_worker(victim);
        }
        let followed = Did::ended(run);
        if followed.code != Some(0) {
            until("it is followed to its end", || {
                farm.count(&id, "run_ended", None) > 0 || farm.wf(&["resume", &id]).code == Some(0)
            });
        }
        assert_eq!(farm.show()["run"]["state"], "succeeded", "{}", followed.all());
        assert_whole(&farm, &id);
        assert_replays(&farm, &id);
    }
}

/// A plan whose first step is recorded, and whose second one lasts.
const LOST: &str = r#"steps:
  - {id: first, run: echo first, verify: [{name: fine, run: 'true'}]}
  - {id: long, depends_on: [first], run: 'touch "MARKS/long"; sleep 600'}
  - {id: last, depends_on: [long], run: echo last}"#;

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_no_worker_can_continue_is_ended_by_cancelling_it() {
    let mut farm = Farm::new(1);
    let marks = marks(&farm);
    farm.plan("lost", &LOST.replace("MARKS", marks.to_str().unwrap()));
    let mut run = farm.start(&["run", "--on", "farm", "lost.md"]);
    let id = farm.run();
    until("the step is recorded", || farm.count(&id, "attempt_started", Some("long")) == 1);
    until("the step began", || marks.join("long").exists());
    run.kill().unwrap();
    run.wait().unwrap();
    // A worker that comes anew does not find what the run is.
    let spec = farm.object_with("logic_version");
    std::fs::remove_file(spec).unwrap();
    farm.kill_host("w1");
    farm.start_worker("w2");
    let resumed = farm.wf(&["resume", &id]).exits(6);
    assert!(resumed.all().contains("`wf cancel RUN` ends it"), "{}", resumed.all());
    let cancelled = farm.wf(&["cancel", &id]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.all());
    let events = farm.events(&id);
    let end = events.last().unwrap();
    assert_eq!((&end["event"], &end["outcome"]), (&"run_ended".into(), &"cancelled".into()), "{events:?}");
    assert!(end["reason"].as_str().unwrap().contains("without its workflow"), "{end}");
    assert_eq!(farm.count(&id, "step_ended", Some("first")), 1);
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    let described = farm.server.temporal(&["workflow", "describe", "--workflow-id", &id, "--output", "json"]);
    let described: Value = serde_json::from_str(&described.exits(0).out).unwrap();
    assert!(described.to_string().contains("TERMINATED"), "{described}");
    farm.plan("lost", &LOST.replace("MARKS", marks.to_str().unwrap()).replace("sleep 600", "true"));
    let again = farm.wf(&["retry", "--on", "farm", &id]);
    assert_eq!(again.code, Some(0), "{}", again.all());
}
