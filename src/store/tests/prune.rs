use std::fs;
use std::time::Duration;

use serde_json::json;

use super::super::fixture::{NOW, first, name, new_run, object, open, run_ended, run_id, story};
use super::super::{CacheEntry, CacheLookup, Retention, RunFilter, Store, verify_chain};
use crate::digest::Digest;
use crate::machine::Place;
use crate::time::Moment;

/// Later than anything that this test writes, by the machine's clock too.
const LATER: Moment = Moment::from_millis(NOW.millis() + 20 * 365 * 86_400_000);

/// Two ended runs, the second with a nested one, and one that goes on.
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

/// Prunes; gives the numbers of the runs that stay.
fn kept(keep: Retention) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    four_runs(&store);
    let pruned = store.prune(keep, LATER).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(verify_chain(&reader).unwrap(), Ok(22 + 2 + 2 + 1));
    store.rebuild().wait().unwrap();
    let all = RunFilter {
        nested: true,
        ..RunFilter::default()
    };
    let runs = reader.runs(9, &all).unwrap();
    assert_eq!(runs.len() + pruned.runs, 4);
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
        let keep = Retention { max_age, max_runs };
        assert_eq!(kept(keep), stay, "{keep:?}");
    }
}

#[test]
fn files_go_when_nothing_names_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    four_runs(&store);
    let named = store.blobs().put_bytes(b"a,b").unwrap();
    let cached = store.blobs().put_bytes(b"cached").unwrap();
    let nobody = store.blobs().put_bytes(b"nobody's").unwrap();
    keep_result(&store, cached);
    let there = |digest: &Digest| store.blobs().path(digest).exists();
    let prune = |max_runs, now| {
        let keep = Retention {
            max_age: None,
            max_runs: Some(max_runs),
        };
        store.prune(keep, now).unwrap().blobs
    };
    let written = store
        .blobs()
        .path(&nobody)
        .metadata()
        .unwrap()
        .modified()
        .unwrap();
    let written = written
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_millis();
    let just_now = Moment::from_millis(i64::try_from(written).unwrap());
    assert_eq!(prune(9, just_now), 0, "what is young stays");
    assert_eq!(prune(9, LATER), 1);
    assert!(there(&named) && there(&cached) && !there(&nobody));
    assert_eq!(prune(1, LATER), 1);
    assert!(!there(&named) && there(&cached), "a kept run asked for it");
    assert_eq!(prune(0, LATER), 1);
    assert!(
        fs::read_dir(store.folder().path().join("runs"))
            .unwrap()
            .count()
            == 1
    );
}

/// Keeps a result of the first run, which the second one used.
fn keep_result(store: &Store, digest: Digest) {
    let place = Place::of(&name("build"));
    let key = Digest::of(b"key");
    let entry = CacheEntry {
        key,
        run: run_id(1),
        place: place.clone(),
        outputs: object(json!({})),
        artifacts: vec![crate::machine::Artifact {
            path: "a".into(),
            digest,
            size: 6,
        }],
        files: vec![],
        created: NOW,
    };
    let lookup = CacheLookup {
        run: run_id(2),
        place,
        item_key: None,
        key,
        hit: true,
        parts: json!({}),
    };
    store.cache_put(entry).wait().unwrap();
    store.cache_note(lookup).wait().unwrap();
}
