use std::{collections::BTreeMap, path::Path};

use rusqlite::Connection;
use serde_json::json;

use crate::{
    CacheEntry, CacheLookup, FindError, RunFilter, RunState, StoreDurability, StoreError, StoreReader,
    projections::rebuild::PROJECTIONS,
    tests::fixture::{
        NOW, attempt, first, name, new_run, next, object, open, run_id, started, story, stranger, verdict,
    },
};
use wf_base::{digest::Sha256Digest, name::PlanId};
use wf_core::machine::{
    Artifact, CachedFile, CachedFileKind, CachedResult, CheckRuling, CheckVerdict, EventKind, RunOutcome,
    Standing, StepState, TaskId, WorkExit,
};

#[test]
fn what_was_recorded_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    let batch = first(&run, new_run("report"), story());
    let events = batch.events.clone();
    assert_eq!(store.append(batch).wait().unwrap().last, 21);

    let reader = store.reader().unwrap();
    let read = reader.events().of_run(&run, 0).unwrap();
    assert_eq!(read.iter().map(|(n, _)| *n).collect::<Vec<_>>(), (1..=21).collect::<Vec<_>>());
    assert_eq!(read.into_iter().map(|(_, event)| event).collect::<Vec<_>>(), events);
    assert_eq!(reader.events().of_run(&run, 20).unwrap().len(), 1);

    let row = reader.runs().get(&run).unwrap();
    assert_eq!(row.state, RunState::Ended(RunOutcome::Succeeded));
    assert_eq!((row.standing, row.counts.verified), (Standing::Verified, 2));
    assert_eq!(row.params, new_run("report").params);
    assert_eq!(reader.runs().config(&run).unwrap(), json!({"max_parallel": 2, "durability": "normal"}));
    assert_eq!(row.durability, Some(StoreDurability::Normal));
    assert_eq!(reader.sources().of_run(&run).unwrap(), new_run("report").sources);
}

#[test]
fn steps_attempts_checks_and_artifacts_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    store.append(first(&run, new_run("report"), story())).wait().unwrap();
    let reader = store.reader().unwrap();

    let steps = reader.steps().of_run(&run).unwrap();
    let shown: Vec<_> =
        steps.iter().map(|step| (step.step.as_str(), step.item, step.state, step.attempts)).collect();
    assert_eq!(
        shown,
        [
            ("prepare", None, StepState::Succeeded, 0),
            ("fetch", None, StepState::Succeeded, 2),
            ("load", None, StepState::Running, 0),
            ("load", Some(0), StepState::Queued, 0),
            ("load", Some(1), StepState::Failed, 1),
            ("send", None, StepState::Skipped, 0),
        ]
    );
    assert_eq!(steps[0].reused_from, Some(run_id(200)));
    assert_eq!(steps[1].outputs, object(json!({"rows": 0})));
    assert_eq!(steps[4].item_key.as_deref(), Some("b"));

    let attempts = reader.attempts().of_run(&run).unwrap();
    let exits: Vec<_> = attempts.into_iter().map(|attempt| attempt.exit.unwrap()).collect();
    assert_eq!(exits, [1, 0, 7].map(|code| WorkExit::Code { code }));
    let checks = reader.checks().of_run(&run).unwrap();
    assert_eq!(checks[0].step, Some(name("fetch")));
    assert_eq!((&checks[1].step, checks[1].verdict.duration_ms), (&None, 4));
    assert_eq!(reader.artifacts().of_run(&run).unwrap()[0].artifact.path, "out/report.csv");
}

#[test]
fn what_the_cache_held_is_shown_until_a_check_refutes_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    let artifact = Artifact {
        path: "out.txt".into(),
        digest: Sha256Digest::of_bytes(b"out"),
        size: 3,
        released_by: None,
    };
    let hit = EventKind::CacheHit {
        task_id: TaskId::of_step(&name("build")),
        found: CachedResult {
            cache_key: Sha256Digest::of_bytes(b"key"),
            reused_from: run_id(2),
            outputs: object(json!({})),
            artifacts: vec![artifact.clone()],
        },
    };
    let facts = vec![hit];
    store.append(first(&run, new_run("report"), facts)).wait().unwrap();
    let reader = store.reader().unwrap();
    let shown = reader.artifacts().of_run(&run).unwrap();
    assert_eq!((shown[0].attempt, &shown[0].artifact), (0, &artifact));

    for (ruling, left) in [(CheckRuling::Pass, 1), (CheckRuling::Fail, 0)] {
        let judged = EventKind::CheckCompleted {
            attempt: Some(attempt("build", None, 0)),
            verdict: CheckVerdict { ruling, ..verdict("good") },
        };
        store.append(next(&run, vec![judged])).wait().unwrap();
        assert_eq!(reader.artifacts().of_run(&run).unwrap().len(), left, "{ruling:?}");
    }
}

#[test]
fn projections_can_be_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for number in 1..=3 {
        let run = run_id(number);
        store.append(first(&run, new_run("report"), story())).wait().unwrap();
    }
    let before = dump(dir.path());
    assert!(before.values().all(|rows| !rows.is_empty()), "{before:?}");
    store.rebuild().wait().unwrap();
    assert_eq!(dump(dir.path()), before);
}

/// The rows of all projections, as text.
fn dump(dir: &Path) -> BTreeMap<&'static str, Vec<String>> {
    let connection: Connection = stranger(dir);
    let rows = |table| {
        let mut select = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let width = select.column_count();
        select
            .query_map([], |row| {
                let cells = (0..width).map(|at| row.get_ref(at).map(|cell| format!("{cell:?}")));
                cells.collect::<Result<Vec<_>, _>>().map(|cells| cells.join(", "))
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    };
    PROJECTIONS.iter().map(|table| (*table, rows(table))).collect()
}

#[test]
fn a_bad_batch_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    store.append(first(&run, new_run("report"), vec![])).wait().unwrap();
    let commits = commits(dir.path());

    // While another connection writes, batches pile up; then they are committed together.
    let busy = stranger(dir.path());
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let good: Vec<_> = (0..50).map(|_| store.append(next(&run, vec![started("fetch")]))).collect();
    let unknown = store.append(next(&run_id(9), vec![started("fetch")]));
    let twice = store.append(first(&run, new_run("report"), story()));
    let last = store.append(next(&run, vec![started("send")]));
    busy.execute_batch("ROLLBACK").unwrap();

    for (at, ticket) in good.into_iter().enumerate() {
        assert_eq!(ticket.wait().unwrap().last, at as u64 + 1);
    }
    assert_eq!(unknown.wait().unwrap_err(), StoreError::UnknownRun(run_id(9)));
    assert_eq!(twice.wait().unwrap_err(), StoreError::KnownRun(run.clone()));
    assert_eq!(last.wait().unwrap().last, 51);
    assert_eq!(store.reader().unwrap().events().of_run(&run, 0).unwrap().len(), 51);
    let grouped = self::commits(dir.path()) - commits;
    assert!(grouped <= 2, "{grouped} commits");
}

/// Counts the commits in the write-ahead log: the frames with the size of the database.
fn commits(dir: &Path) -> usize {
    let log = std::fs::read(dir.join("state.db-wal")).unwrap();
    let frames = log.get(32..).unwrap().chunks_exact(24 + 4096);
    frames.filter(|frame| frame.get(4..8) != Some(&[0; 4])).count()
}

#[test]
fn runs_are_found_by_prefix() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for number in [0x11, 0x12, 0x2a] {
        let run = run_id(number);
        store.append(first(&run, new_run("report"), story())).wait().unwrap();
    }
    let mut nested = new_run("part");
    nested.parent = Some((run_id(0x11), "build#1".into()));
    store.append(first(&run_id(0x33), nested, vec![])).wait().unwrap();

    let reader = store.reader().unwrap();
    assert_eq!(reader.runs().find("2").unwrap(), run_id(0x2a));
    assert_eq!(reader.runs().find("1212").unwrap(), run_id(0x12));
    assert_eq!(reader.runs().find(run_id(0x33).as_str()).unwrap(), run_id(0x33));
    assert_eq!(reader.runs().last().unwrap(), run_id(0x2a));
    match reader.runs().find("1").unwrap_err() {
        FindError::Ambiguous(error) => assert_eq!(error.among, [run_id(0x11), run_id(0x12)]),
        other => panic!("{other:?}"),
    }
    for prefix in ["f", "", "_", "%", "2A", "é"] {
        match reader.runs().find(prefix).unwrap_err() {
            FindError::Unknown { latest, .. } => assert_eq!(latest.len(), 3, "{prefix}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reader.runs().children(&run_id(0x11)).unwrap(), [(run_id(0x33), "build#1".into())]);
}

#[test]
fn runs_are_listed_by_filter() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(1), new_run("report"), story())).wait().unwrap();
    store.append(first(&run_id(2), new_run("report"), vec![])).wait().unwrap();
    let mut nested = new_run("part");
    nested.parent = Some((run_id(2), "build#1".into()));
    store.append(first(&run_id(3), nested, vec![])).wait().unwrap();

    let reader = store.reader().unwrap();
    let list = |limit, filter: RunFilter| -> Vec<_> {
        let runs = reader.runs().list(limit, &filter).unwrap();
        runs.into_iter().map(|run| run.id).collect()
    };
    let all = RunFilter::default;
    assert_eq!(list(9, all()), [run_id(2), run_id(1)]);
    assert_eq!(list(1, all()), [run_id(2)]);
    assert_eq!(list(9, RunFilter { nested: true, ..all() }).len(), 3);
    let state = Some(RunState::Running);
    assert_eq!(list(9, RunFilter { state, ..all() }), [run_id(2)]);
    let state = Some(RunState::Ended(RunOutcome::Succeeded));
    assert_eq!(list(9, RunFilter { state, ..all() }), [run_id(1)]);
    let plan = Some(PlanId::parse("part").unwrap());
    assert!(list(9, RunFilter { plan, ..all() }).is_empty());
    let before = |id| RunFilter { before: Some(run_id(id)), ..all() };
    assert_eq!(list(9, before(2)), [run_id(1)]);
    assert!(list(9, before(1)).is_empty() && list(9, before(9)).is_empty());
}

#[test]
fn the_cache_says_what_it_kept_and_was_asked() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entry = CacheEntry {
        key: Sha256Digest::of_bytes(b"key"),
        run: run_id(1),
        task_id: TaskId::of_step(&name("build")),
        outputs: object(json!({"rows": 3})),
        artifacts: vec![],
        files: vec![CachedFile {
            path: "out/a".into(),
            digest: Sha256Digest::of_bytes(b"a"),
            size: 1,
            mode: 0o755,
            kind: CachedFileKind::Link,
        }],
        created: NOW,
    };
    store.cache().put(entry.clone()).wait().unwrap();
    for (number, text) in [(1, "old"), (2, "new")] {
        let run = run_id(number);
        store.append(first(&run, new_run("report"), vec![])).wait().unwrap();
        let lookup = CacheLookup {
            run,
            task_id: entry.task_id.clone(),
            item_key: None,
            key: entry.key,
            hit: number == 2,
            parts: json!({"script": text}),
        };
        store.cache().note_lookup(lookup).wait().unwrap();
    }
    let reader = store.reader().unwrap();
    assert_eq!(reader.cache().find(&entry.key).unwrap(), Some(Ok(entry)));
    assert_eq!(reader.cache().find(&Sha256Digest::of_bytes(b"other")).unwrap(), None);
    let (plan, step) = (PlanId::parse("report").unwrap(), name("build"));
    let now = reader.cache().lookup(&run_id(2), &step, None).unwrap();
    assert_eq!(now, Some((true, json!({"script": "new"}))));
    let before = |run| reader.cache().last_lookup(&plan, &step, None, &run).unwrap();
    assert_eq!(before(run_id(2)), Some((run_id(1), json!({"script": "old"}))));
    assert_eq!(before(run_id(1)), None);
}

#[test]
fn readers_see_whole_batches_while_others_write() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    store.append(first(&run, new_run("report"), vec![])).wait().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let reader = StoreReader::open(dir.path()).unwrap();
                let mut last = 0;
                while last < 200 {
                    let seen = reader.events().of_run(&run, 0).unwrap().len();
                    assert!(seen >= last && seen.is_multiple_of(2), "{seen} after {last}");
                    last = seen;
                }
            });
        }
        for _ in 0..100 {
            let two = vec![started("fetch"), started("send")];
            store.append(next(&run, two)).wait().unwrap();
        }
    });
}
