//! Readers that stay open, while the state beside them changes, goes away and comes back.

use std::{fs, path::Path};

use crate::{
    ReaderPool, RunFilter, Store, StoreError,
    tests::fixture::{NOW, first, new_run, open, run_id, story, stranger},
};
use wf_core::memory::{MemoryNote, NoteDraft};

fn add_run(store: &Store, number: u8) {
    store.append(first(&run_id(number), new_run("report"), story())).wait().unwrap();
}

/// Returns the number of runs that a new view sees.
fn seen(pool: &ReaderPool, dir: &Path) -> usize {
    pool.view(dir).unwrap().runs().list(10, &RunFilter::default()).unwrap().len()
}

/// Tries to move the whole write-ahead log into the database; true if nothing was in the way.
fn checkpoints(dir: &Path) -> bool {
    let stranger = stranger(dir);
    stranger.busy_timeout(std::time::Duration::ZERO).unwrap();
    stranger.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0)).unwrap() == 0
}

#[test]
fn a_view_sees_one_instant_and_the_next_one_a_later() {
    let dir = tempfile::tempdir().unwrap();
    let (store, pool) = (open(dir.path()), ReaderPool::default());
    add_run(&store, 1);
    let view = pool.view(dir.path()).unwrap();
    add_run(&store, 2);
    assert_eq!(view.runs().list(10, &RunFilter::default()).unwrap().len(), 1, "it began before");
    assert_eq!(seen(&pool, dir.path()), 2, "another one sees more meanwhile");
    drop(view);
    assert_eq!(seen(&pool, dir.path()), 2);
}

#[test]
fn a_reader_that_is_not_in_use_delays_no_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let (store, pool) = (open(dir.path()), ReaderPool::default());
    add_run(&store, 1);
    let view = pool.view(dir.path()).unwrap();
    add_run(&store, 2);
    assert!(!checkpoints(dir.path()), "a view that is read does");
    drop(view);
    assert_eq!(pool.idle().len(), 1, "its reader is kept");
    assert!(checkpoints(dir.path()));
    assert_eq!(fs::metadata(dir.path().join("state.db-wal")).unwrap().len(), 0);
    assert_eq!(seen(&pool, dir.path()), 2);
}

#[test]
fn a_state_that_is_removed_and_made_anew_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let (state, pool) = (dir.path().join(".wf"), ReaderPool::default());
    assert!(matches!(pool.view(&state), Err(StoreError::NoState(_))));
    for runs in [1, 3, 2] {
        let store = open(&state);
        (1..=runs).for_each(|number| add_run(&store, number));
        assert_eq!(seen(&pool, &state), usize::from(runs));
        drop(store);
        fs::remove_dir_all(&state).unwrap();
        assert!(matches!(pool.view(&state), Err(StoreError::NoState(_))));
        assert!(pool.idle().is_empty(), "the readers of what is gone are closed");
    }
}

#[test]
fn a_state_that_is_replaced_is_seen_and_not_by_a_view_that_has_begun() {
    let dir = tempfile::tempdir().unwrap();
    let (state, other, pool) = (dir.path().join(".wf"), dir.path().join("other"), ReaderPool::default());
    add_run(&open(&state), 1);
    let store = open(&other);
    add_run(&store, 2);
    add_run(&store, 3);
    drop(store);
    let view = pool.view(&state).unwrap();
    fs::rename(&state, dir.path().join("old")).unwrap();
    fs::rename(&other, &state).unwrap();
    assert_eq!(view.runs().list(10, &RunFilter::default()).unwrap().len(), 1);
    drop(view);
    assert_eq!(seen(&pool, &state), 2);
    assert_eq!(pool.idle().len(), 1);
}

#[test]
fn a_schema_that_was_changed_is_looked_at_again() {
    let dir = tempfile::tempdir().unwrap();
    let (store, pool) = (open(dir.path()), ReaderPool::default());
    add_run(&store, 1);
    assert_eq!(seen(&pool, dir.path()), 1);
    let newer = "CREATE TABLE more (x); INSERT INTO migrations VALUES (99, 'x')";
    stranger(dir.path()).execute_batch(newer).unwrap();
    assert!(matches!(pool.view(dir.path()), Err(StoreError::Newer { .. })));
}

#[test]
fn only_so_many_readers_stay_open() {
    let dir = tempfile::tempdir().unwrap();
    let (store, pool) = (open(dir.path()), ReaderPool::default());
    add_run(&store, 1);
    let views: Vec<_> = (0..40).map(|_| pool.view(dir.path()).unwrap()).collect();
    drop(views);
    assert_eq!(pool.idle().len(), crate::views::reader_pool::MAX_IDLE);
}

#[test]
fn rows_that_were_folded_for_one_view_are_brought_up_to_date_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let (store, pool) = (open(dir.path()), ReaderPool::default());
    let found = || pool.view(dir.path()).unwrap().memory().notes().unwrap().len();
    for (text, count) in [("one", 1), ("two", 2)] {
        let draft = NoteDraft { text: text.into(), ..NoteDraft::default() };
        store.memory().add_notes(vec![MemoryNote::new(draft, "user", false, NOW).unwrap()]).wait().unwrap();
        assert_eq!(found(), count);
    }
    assert_eq!(pool.idle().len(), 1);
}
