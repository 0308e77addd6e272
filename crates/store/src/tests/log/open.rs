use std::{fs, path::Path, sync::Arc};

use crate::{
    RunFilter, Store, StoreDurability, StoreError, StoreReader,
    tests::fixture::{NOW, first, new_run, open, run_id, story, stranger},
};
use wf_base::time::FixedClock;

/// Opens a damaged state folder for writing and for reading, which must report the same.
fn refusal(spoil: impl FnOnce(&Path)) -> StoreError {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = first(&run_id(1), new_run("report"), story());
    store.append(run).wait().unwrap();
    drop(store);
    // Moves everything into the one file.
    stranger(dir.path()).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    spoil(dir.path());
    let clock = Arc::new(FixedClock(NOW));
    let written = Store::open(dir.path(), StoreDurability::Full, clock).unwrap_err();
    let read = StoreReader::open(dir.path()).unwrap_err();
    assert_eq!(written, read);
    assert!(written.to_string().contains("state.db"), "{written}");
    assert!(!written.remedy().is_empty());
    written
}

fn alter(dir: &Path, sql: &str) {
    stranger(dir).execute_batch(sql).unwrap();
}

#[test]
fn a_fresh_folder_is_laid_out() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("deep").join(".wf");
    assert!(matches!(StoreReader::open(&state), Err(StoreError::NoState(_))));
    for durability in [StoreDurability::Full, StoreDurability::Normal] {
        let store = Store::open(&state, durability, Arc::new(FixedClock(NOW))).unwrap();
        assert!(store.reader().unwrap().runs().last().is_err());
    }
    assert_eq!(fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    assert!(state.join("state.db").is_file());
}

#[test]
fn an_altered_migration_is_refused() {
    let error = refusal(|dir| alter(dir, "UPDATE migrations SET checksum = 'x' WHERE number = 1"));
    assert!(matches!(error, StoreError::Changed { number: 1, .. }), "{error}");
}

#[test]
fn a_newer_schema_is_refused() {
    let error = refusal(|dir| alter(dir, "INSERT INTO migrations VALUES (99, 'x')"));
    assert!(matches!(error, StoreError::Newer { found: 3, known: 2, .. }), "{error}");
}

#[test]
fn an_open_store_goes_on_when_a_later_version_migrates_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(1), new_run("report"), story())).wait().unwrap();
    alter(dir.path(), "CREATE TABLE more (x); INSERT INTO migrations VALUES (99, 'x')");
    assert_eq!(store.reader().unwrap().events().of_run(&run_id(1), 0).unwrap().len(), 21);
    store.append(first(&run_id(2), new_run("report"), story())).wait().unwrap();
    assert!(matches!(StoreReader::open(dir.path()), Err(StoreError::Newer { .. })));
}

#[test]
fn a_schema_whose_migrations_are_missing_is_brought_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_id(1);
    let batch = first(&run, new_run("report"), story());
    drop(open(dir.path()));
    let tables: Vec<String> = {
        let connection = stranger(dir.path());
        let sql = "SELECT 'DROP TABLE ' || name FROM sqlite_schema
                   WHERE type = 'table' AND name <> 'migrations'";
        let mut names = connection.prepare(sql).unwrap();
        let names = names.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    alter(dir.path(), &format!("DELETE FROM migrations; {}", tables.join("; ")));
    open(dir.path()).append(batch).wait().unwrap();
    let reader = StoreReader::open(dir.path()).unwrap();
    assert_eq!(reader.events().of_run(&run, 0).unwrap().len(), 21);
}

#[test]
fn what_is_no_database_of_ours_is_refused() {
    let error = refusal(|dir| fs::write(dir.join("state.db"), "kind: plan\n".repeat(99)).unwrap());
    assert!(matches!(error, StoreError::NotADatabase(_)), "{error}");
    let error = refusal(|dir| alter(dir, "PRAGMA application_id = 7"));
    assert!(matches!(error, StoreError::Foreign(_)), "{error}");
}

#[test]
fn a_damaged_file_is_refused() {
    let error = refusal(|dir| {
        let file = dir.join("state.db");
        let mut bytes = fs::read(&file).unwrap();
        // All pages but the head of the first, which holds the file's header.
        bytes.iter_mut().skip(100).for_each(|byte| *byte = 0x5a);
        fs::write(file, bytes).unwrap();
    });
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let clock = Arc::new(FixedClock(NOW));
    let error = Store::open(&file.join(".wf"), StoreDurability::Full, clock).unwrap_err();
    assert!(error.to_string().contains("file/.wf"), "{error}");
}

#[test]
fn many_may_open_a_fresh_folder_at_once() {
    for _ in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let dir = dir.path();
                scope.spawn(move || {
                    let run = first(&run_id(number), new_run("report"), story());
                    open(dir).append(run).wait().unwrap();
                });
            }
        });
        let reader = StoreReader::open(dir.path()).unwrap();
        assert_eq!(reader.runs().list(9, &RunFilter::default()).unwrap().len(), 4);
    }
}
