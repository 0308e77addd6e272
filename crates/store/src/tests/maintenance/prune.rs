use std::{fs, sync::Arc, time::Duration};

use serde_json::json;

use crate::{
    BodyFault, CacheEntry, CacheLookup, FindError, LockAcquisition, PruneResult, RunFilter, RunRetention,
    RunState, StateFault, Store, StoreDurability, examine,
    tests::fixture::{
        LATER, NOW, answered, attempt, first, lock, name, new_run, next, object, open, put, run_ended,
        run_id, started, story, stranger,
    },
    verify_chain,
};
use wf_base::{
    digest::Sha256Digest,
    name::RunId,
    time::{Moment, SystemClock},
};
use wf_core::{
    machine::{Artifact, EventKind, RunOutcome, TaskId},
    undo::UndoOffer,
};

/// Two ended runs, the second with a nested one, and a live one.
fn four_runs(store: &Store) {
    let mut nested = new_run("part");
    nested.parent = Some((run_id(2), "build#1".into()));
    for (number, new, facts) in [
        (1, new_run("report"), story()),
        (2, new_run("report"), vec![run_ended()]),
        (3, nested, vec![run_ended()]),
        (4, new_run("report"), vec![]),
    ] {
        let run = run_id(number);
        store.append(first(&run, new, facts)).wait().unwrap();
        store.folder().create_run(&run).unwrap();
    }
}

/// Prunes; returns the numbers of the remaining runs.
fn kept(retention: RunRetention) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    four_runs(&store);
    let pruned = store.prune(retention, LATER).unwrap();
    let reader = store.reader().unwrap();
    let record = u64::from(pruned.runs > 0);
    assert_eq!(verify_chain(&reader).unwrap(), Ok(22 + 2 + 2 + 1 + record));
    store.rebuild().wait().unwrap();
    let all = RunFilter { nested: true, ..RunFilter::default() };
    let runs = reader.runs().list(9, &all).unwrap();
    assert_eq!(runs.len() + pruned.runs, 4);
    // The summaries of those that were not nested stay.
    let gone: Vec<RunId> =
        [1, 2].map(run_id).into_iter().filter(|run| runs.iter().all(|row| row.id != *run)).collect();
    let mut summaries = reader.runs().pruned(9, &RunFilter::default()).unwrap();
    summaries.sort_by_key(|row| row.id.clone());
    assert_eq!(summaries.iter().map(|row| row.id.clone()).collect::<Vec<_>>(), gone);
    for row in &summaries {
        assert_eq!((row.plan.as_str(), row.state), ("report", RunState::Ended(RunOutcome::Succeeded)));
        let found = reader.runs().find(row.id.as_str());
        assert!(matches!(&found, Err(FindError::Pruned { run, .. }) if *run == row.id), "{found:?}");
    }
    let recorded = |number: &u8| runs.iter().any(|run| run.id == run_id(*number));
    for number in 1..=4 {
        let folder = store.folder().run(&run_id(number));
        assert_eq!(folder.exists(), recorded(&number), "folder of run {number}");
    }
    (1..=4).filter(recorded).collect()
}

#[test]
fn only_ended_runs_beyond_the_retention_go() {
    let age = |days: u64| Some(Duration::from_secs(days * 86_400));
    for (max_age, max_runs, stay) in [
        (None, None, vec![1, 2, 3, 4]),
        (None, Some(1), vec![2, 3, 4]),
        (None, Some(0), vec![4]),
        (age(30 * 365), None, vec![1, 2, 3, 4]),
        (age(1), None, vec![4]),
        (age(30 * 365), Some(1), vec![2, 3, 4]),
    ] {
        let keep = RunRetention { max_age, max_runs, ..RunRetention::default() };
        assert_eq!(kept(keep), stay, "{keep:?}");
    }
}

#[test]
fn files_go_when_nothing_names_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    four_runs(&store);
    let named = put(&store, b"a,b");
    let cached = put(&store, b"cached");
    let nobody = put(&store, b"nobody's");
    keep_result(&store, cached);
    let there = |digest: &Sha256Digest| store.blobs().path(digest).exists();
    let prune = |max_runs, now| {
        let keep = RunRetention { max_runs: Some(max_runs), ..RunRetention::default() };
        store.prune(keep, now).unwrap().blobs
    };
    let written = store.blobs().path(&nobody).metadata().unwrap().modified().unwrap();
    let written = written.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let just_now = Moment::from_millis(i64::try_from(written).unwrap());
    assert_eq!(prune(9, just_now), 0, "what is young stays");
    assert_eq!(prune(9, LATER), 1);
    assert!(there(&named) && there(&cached) && !there(&nobody));
    assert_eq!(prune(1, LATER), 1);
    assert!(!there(&named) && there(&cached), "a kept run asked for it");
    assert_eq!(prune(0, LATER), 1);
    assert!(fs::read_dir(store.folder().path().join("runs")).unwrap().count() == 1);
}

/// Stores a result of the first run, which the second one reused.
fn keep_result(store: &Store, digest: Sha256Digest) {
    let task_id = TaskId::of_step(&name("build"));
    let key = Sha256Digest::of_bytes(b"key");
    let entry = CacheEntry {
        key,
        run: run_id(1),
        task_id: task_id.clone(),
        outputs: object(json!({})),
        artifacts: vec![wf_core::machine::Artifact { path: "a".into(), digest, size: 6, released_by: None }],
        files: vec![],
        created: NOW,
    };
    let lookup = CacheLookup { run: run_id(2), task_id, item_key: None, key, hit: true, parts: json!({}) };
    store.cache().put(entry).wait().unwrap();
    store.cache().note_lookup(lookup).wait().unwrap();
}

#[test]
fn what_is_worked_on_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    // Files have the times of the machine.
    let clock = Arc::new(SystemClock);
    let other = Store::open(dir.path(), StoreDurability::Normal, clock).unwrap();
    four_runs(&store);
    let all = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    // Its end is recorded, but its owner has not released it yet.
    let fence = other.own_run(&run_id(2), "").wait().unwrap();
    let blob = put(&other, b"not recorded yet");
    assert_eq!(store.prune(all, LATER).unwrap().runs, 1);
    let folder = |number| store.folder().run(&run_id(number)).exists();
    assert_eq!([1, 2, 3, 4].map(folder), [false, true, true, true]);
    assert!(store.blobs().path(&blob).exists(), "the clock went on by years");
    drop((fence, other));
    assert_eq!(store.prune(all, LATER).unwrap().runs, 2);
    assert_eq!([1, 2, 3, 4].map(folder), [false, false, false, true]);
    assert!(!store.blobs().path(&blob).exists());
}

#[test]
fn what_belonged_to_forgotten_runs_goes_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for number in 1..=9 {
        let run = run_id(number);
        let fence = store.own_run(&run, "").wait().unwrap();
        let mut new = new_run("report");
        new.sources = vec![("report.md".into(), format!("# Plan {number}"))];
        let mut batch = first(&run, new, vec![run_ended()]);
        batch.token = fence.token();
        store.append(batch).wait().unwrap();
        let place = TaskId::of_step(&name("build"));
        assert_eq!(store.try_lock(&lock("x"), &run, &place).wait(), Ok(LockAcquisition::Acquired));
        store.unlock(&run, &place).wait().unwrap();
    }
    drop(store.own_run(&run_id(99), "").wait().unwrap());
    let keep = RunRetention { max_runs: Some(2), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 7);
    for (table, rows) in [("runs", 2), ("source_texts", 2), ("run_leases", 2), ("locks", 0)] {
        let sql = format!("SELECT count(*) FROM {table}");
        let found: i64 = stranger(dir.path()).query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(found, rows, "{table}");
    }
}

#[test]
fn nothing_is_forgotten_while_a_backup_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    four_runs(&store);
    let turn = std::fs::File::open(dir.path()).unwrap();
    turn.lock().unwrap();
    let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 0);
    turn.unlock().unwrap();
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 3);
}

/// Records a run that has ended, with the file of its only artifact, of 100,000 bytes.
fn run_with_artifact(store: &Store, number: u8) -> Sha256Digest {
    let digest = put(store, &vec![number; 100_000]);
    let mut answered = answered(attempt("build", None, 1), 0);
    if let EventKind::AttemptEnded { artifacts, .. } = &mut answered {
        *artifacts = vec![Artifact { path: "out".into(), digest, size: 100_000, released_by: None }];
    }
    let facts = vec![started("build"), answered, run_ended()];
    store.append(first(&run_id(number), new_run("report"), facts)).wait().unwrap();
    digest
}

#[test]
fn stored_files_beyond_the_limit_go_and_the_runs_stay() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let files = [1, 2, 3].map(|number| run_with_artifact(&store, number));
    let there = || files.map(|digest| store.blobs().path(&digest).exists());
    let limit = |bytes| RunRetention { max_artifact_bytes: Some(bytes), ..RunRetention::default() };
    let reader = store.reader().unwrap();
    assert_eq!(reader.runs().may_exceed(limit(300_000), LATER), Ok(false));
    assert_eq!(reader.runs().may_exceed(limit(250_000), LATER), Ok(true));
    assert_eq!(reader.artifacts().exceeding(limit(250_000), LATER), Ok((1, 100_000)));
    let pruned = store.prune(limit(250_000), LATER).unwrap();
    assert_eq!((pruned.runs, pruned.shortened, pruned.blobs), (0, 1, 1));
    assert_eq!(there(), [false, true, true]);
    assert_eq!(store.prune(limit(250_000), LATER).unwrap(), PruneResult::default(), "once");
    // The record says so, and all else of the run is there.
    assert_eq!(reader.artifacts().pruned(files), Ok([files[0]].into()));
    assert_eq!(reader.artifacts().of_run(&run_id(1)).unwrap().len(), 1);
    assert_eq!(examine(&reader).unwrap(), []);
    store.rebuild().wait().unwrap();
    assert_eq!(examine(&reader).unwrap(), []);
    assert_eq!(reader.runs().list(9, &RunFilter::default()).unwrap().len(), 3);
    // What is gone without a record is named.
    fs::remove_file(store.blobs().path(&files[1])).unwrap();
    assert!(matches!(examine(&reader).unwrap().as_slice(), [StateFault::Body(BodyFault::FileGone { .. })]));
    // The newest file stays, whatever the limit is.
    store.prune(limit(0), LATER).unwrap();
    assert_eq!(there(), [false, false, true]);
}

#[test]
fn stored_files_are_measured_once_runs_have_stored_a_part_that_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    run_with_artifact(&store, 1);
    // Nothing tells of this one but a look at all files.
    put(&store, &vec![9; 20_000_000]);
    let exceeds = |number, bytes| {
        run_with_artifact(&store, number);
        let limit = RunRetention { max_artifact_bytes: Some(bytes), ..RunRetention::default() };
        store.reader().unwrap().runs().may_exceed(limit, LATER).unwrap()
    };
    assert!(exceeds(2, 3_200_000), "two runs have stored a sixteenth of it");
    assert!(!exceeds(3, 15_000_000), "three runs have stored a fiftieth of it");
}

#[test]
fn cached_results_of_runs_beyond_the_limit_go_unless_others_looked_them_up() {
    for (looked_up_by, stays) in [(2, false), (3, true)] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let [first, ..] = [1, 2, 3].map(|number| run_with_artifact(&store, number));
        let task_id = TaskId::of_step(&name("build"));
        let key = Sha256Digest::of_bytes(b"key");
        let artifact = Artifact { path: "out".into(), digest: first, size: 100_000, released_by: None };
        let entry = CacheEntry {
            key,
            run: run_id(1),
            task_id: task_id.clone(),
            outputs: object(json!({})),
            artifacts: vec![artifact],
            files: vec![],
            created: NOW,
        };
        let run = run_id(looked_up_by);
        let lookup = CacheLookup { run, task_id, item_key: None, key, hit: true, parts: json!({}) };
        store.cache().put(entry).wait().unwrap();
        store.cache().note_lookup(lookup).wait().unwrap();
        let keep = RunRetention { max_artifact_bytes: Some(150_000), ..RunRetention::default() };
        assert_eq!(store.prune(keep, LATER).unwrap().shortened, if stays { 1 } else { 2 });
        assert_eq!(store.blobs().path(&first).exists(), stays, "looked up by {looked_up_by}");
        assert_eq!(store.reader().unwrap().cache().find(&key).unwrap().is_some(), stays);
        assert_eq!(examine(&store.reader().unwrap()).unwrap(), []);
    }
}

#[test]
fn what_can_be_undone_and_what_a_run_repeats_stays_whatever_the_limits_are() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let until = Moment::from_millis(LATER.millis() + 1);
    let mut ended = run_ended();
    if let EventKind::RunEnded { offers, .. } = &mut ended {
        let offer = UndoOffer { path: "back.md".into(), params: object(json!({})), until };
        offers.undo = Some(Box::new(offer));
    }
    let mut nested = new_run("part");
    nested.parent = Some((run_id(2), "build#1".into()));
    let mut again = new_run("report");
    again.retry_of = Some(run_id(4));
    for (number, new, facts) in [
        (1, new_run("report"), vec![ended.clone()]),
        (2, new_run("report"), vec![run_ended()]),
        (3, nested, vec![ended]),
        (4, new_run("report"), vec![run_ended()]),
        (5, new_run("report"), vec![run_ended()]),
        (6, again, vec![]),
    ] {
        store.append(first(&run_id(number), new, facts)).wait().unwrap();
    }
    let all = RunRetention { max_age: Some(Duration::ZERO), max_runs: Some(0), max_artifact_bytes: Some(0) };
    let stay = |now| {
        store.prune(all, now).unwrap();
        let reader = store.reader().unwrap();
        let rows = reader.runs().list(9, &RunFilter { nested: true, ..RunFilter::default() }).unwrap();
        (1..=6).filter(|number| rows.iter().any(|row| row.id == run_id(*number))).collect::<Vec<u8>>()
    };
    assert_eq!(stay(LATER), [1, 2, 3, 4, 6]);
    assert_eq!(stay(until), [4, 6], "it is too late to undo them");
    store.append(next(&run_id(6), vec![run_ended()])).wait().unwrap();
    assert_eq!(stay(until), [0; 0]);
}

#[test]
fn runs_that_record_no_rows_bound_what_is_read_for_the_recorded_tables() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    put(&store, b"a,b");
    for number in 1..=40 {
        store.append(first(&run_id(number), new_run("report"), story())).wait().unwrap();
    }
    let count = |sql: &str| -> i64 { stranger(dir.path()).query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM events WHERE kind = 'rows_recorded'"), 3);
    assert_eq!(count("SELECT count(*) FROM source_texts WHERE text LIKE 'rows_recorded%'"), 1);
    let reader = store.reader().unwrap();
    assert_eq!(examine(&reader).unwrap(), []);
    store.rebuild().wait().unwrap();
    assert_eq!(examine(&reader).unwrap(), []);
    // The first event of the first run is not compared, that of the last run is.
    let session = |seq: &str| {
        let forged = format!("UPDATE events SET body = replace(body, 'report', 'forged') WHERE seq = {seq}");
        stranger(dir.path()).execute(&forged, []).unwrap();
        store.reader().unwrap().sessions().current()
    };
    assert_eq!(session("1"), Ok(None));
    assert!(session("(SELECT max(run) FROM events)").is_err());
}

#[test]
fn the_age_counts_to_the_end_of_the_run_before_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    four_runs(&store);
    let reader = store.reader().unwrap();
    let day = RunRetention { max_age: Some(Duration::from_hours(24)), ..RunRetention::default() };
    assert_eq!(reader.runs().exceeding(day, LATER), Ok(vec![run_id(1), run_id(2)]));
    let counted = day.counted_to(reader.runs().last_end(1).unwrap(), LATER);
    assert_eq!(reader.runs().exceeding(counted, LATER), Ok(vec![]), "the clock went on by years");
    assert_eq!(reader.runs().last_end(2), Ok(None), "a nested run is none");
    assert_eq!(day.counted_to(None, LATER), day);
    assert_eq!(day.counted_to(Some(LATER), NOW), day, "an end in the future is no reason");
}
