//! What memory forgets is in no file of the state any more, and the log still holds.

use std::path::Path;

use crate::{
    MegramSelection, StoreReader, examine,
    tests::fixture::{NOW, open, stranger},
    verify_chain,
};
use wf_base::{digest::Sha256Digest, name::PlanId};
use wf_core::memory::{Megram, MegramOrigin, MegramState, MegramTags};

fn megram(word: &str) -> Megram {
    let origin = MegramOrigin { at: NOW, from: word };
    Megram::new(MegramState::Refine, MegramTags::tool("curl", "any"), format!("the {word} is secret"), origin)
}

/// True if the bytes of the database's files contain a word.
fn has(dir: &Path, word: &str) -> bool {
    ["state.db", "state.db-wal"].iter().any(|name| {
        let bytes = std::fs::read(dir.join(name)).unwrap_or_default();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    })
}

/// The words of what is remembered, by a reader that reads all of the log, which holds.
#[track_caller]
fn remembered(dir: &Path) -> Vec<String> {
    let reader = StoreReader::open(dir).unwrap();
    verify_chain(&reader).unwrap().unwrap();
    assert_eq!(examine(&reader).unwrap(), []);
    words(&reader)
}

fn words(reader: &StoreReader) -> Vec<String> {
    let all = reader.memory().megrams(&MegramSelection::All).unwrap();
    let mut words: Vec<String> =
        all.iter().map(|one| one.content.split(' ').nth(1).unwrap().to_owned()).collect();
    words.sort();
    words
}

#[test]
fn what_is_forgotten_is_in_no_file_and_the_log_holds() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let store = open(dir);
    let [apple, birch, cedar] = ["apple", "birch", "cedar"].map(megram);
    store.memory().remember(vec![apple.clone(), birch.clone()]).wait().unwrap();
    store.memory().remember(vec![cedar.clone()]).wait().unwrap();
    store.memory().recall(vec![apple.id, cedar.id], NOW).wait().unwrap();
    let early = store.reader().unwrap();
    assert_eq!(words(&early), ["apple", "birch", "cedar"]);

    assert_eq!(store.memory().forget(vec![apple.id]).wait().unwrap(), 1);
    // The control: what is deleted is still in the files.
    assert!(has(dir, "apple"));
    assert_eq!(store.scrub(), Ok(true));
    assert!(!has(dir, "apple") && has(dir, "birch") && has(dir, "cedar"));
    assert_eq!(remembered(dir), ["birch", "cedar"]);
    assert_eq!(words(&early), ["birch", "cedar"], "a reader that folded before");

    // What is left of the first event is in a later one, and leaves that, too.
    assert_eq!(store.memory().forget(vec![birch.id]).wait().unwrap(), 1);
    assert_eq!(store.scrub(), Ok(true));
    assert!(!has(dir, "apple") && !has(dir, "birch") && has(dir, "cedar"));
    assert_eq!(remembered(dir), ["cedar"]);
    store.rebuild().wait().unwrap();
    assert_eq!(remembered(dir), ["cedar"]);
    // It can be remembered anew.
    assert_eq!(store.memory().remember(vec![apple]).wait().unwrap(), 1);
    assert_eq!(remembered(dir), ["apple", "cedar"]);
    drop(store);
    assert_eq!(open(dir).memory().forget(vec![cedar.id]).wait().unwrap(), 1);
    assert_eq!(remembered(dir), ["apple"]);
}

#[test]
fn what_faded_before_is_erased_with_what_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let store = open(dir);
    let [apple, birch] = ["apple", "birch"].map(megram);
    store.memory().remember(vec![apple.clone(), birch.clone()]).wait().unwrap();
    let id = apple.id.to_string();
    store
        .row_sql(move |connection| connection.execute("DELETE FROM megrams WHERE id = ?1", [id]))
        .wait()
        .unwrap();
    // The control: without erasing, overwriting files does not reach what the log has.
    assert_eq!(store.scrub(), Ok(true));
    assert!(has(dir, "apple"));
    store.memory().forget(vec![birch.id]).wait().unwrap();
    assert_eq!(store.scrub(), Ok(true));
    assert!(!has(dir, "apple") && !has(dir, "birch"));
    assert_eq!(remembered(dir), [""; 0]);
}

#[test]
fn a_snapshot_does_not_keep_what_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let store = open(dir);
    let [apple, birch] = ["apple", "birch"].map(megram);
    store.memory().remember(vec![apple.clone(), birch.clone()]).wait().unwrap();
    let goal = PlanId::parse("lamp").unwrap();
    for number in 0..130 {
        let at = wf_base::time::Moment::from_millis(NOW.millis() + number);
        store.memory().recall(vec![birch.id], at).wait().unwrap();
        store.notifications().queue(&goal, serde_json::json!({}), at).wait().unwrap();
    }
    let snapshots = "SELECT count(*) FROM source_texts WHERE text LIKE 'rows_recorded%apple%'";
    let snapshots = || stranger(dir).query_row(snapshots, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(snapshots(), 1, "the control: a snapshot has it");
    store.memory().forget(vec![apple.id]).wait().unwrap();
    assert_eq!((snapshots(), store.scrub()), (0, Ok(true)));
    assert!(!has(dir, "apple") && has(dir, "birch"));
    assert_eq!(remembered(dir), ["birch"]);
    assert_eq!(store.reader().unwrap().notifications().unsent().unwrap().len(), 130);
    // Nor is it needed: all events before it can be folded.
    stranger(dir).execute("DELETE FROM source_texts", []).unwrap();
    assert_eq!(remembered(dir), ["birch"]);
    assert_eq!(store.reader().unwrap().notifications().unsent().unwrap().len(), 130);
}

#[test]
fn an_event_that_was_erased_is_named_where_nothing_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let store = open(dir);
    let [apple, birch] = ["apple", "birch"].map(megram);
    store.memory().remember(vec![apple.clone()]).wait().unwrap();
    store.memory().remember(vec![birch]).wait().unwrap();
    store.memory().forget(vec![apple.id]).wait().unwrap();
    assert_eq!(remembered(dir), ["birch"]);
    let database = stranger(dir);
    let sql = "SELECT body FROM events WHERE seq = 2";
    let body: String = database.query_row(sql, [], |row| row.get(0)).unwrap();
    let digest = Sha256Digest::of_bytes(body.as_bytes());
    let attack = "UPDATE events SET body = NULL, digest = ?1 WHERE seq = 2";
    assert_eq!(database.execute(attack, [digest.bytes()]).unwrap(), 1);
    let reader = StoreReader::open(dir).unwrap();
    // The control: the hashes fit.
    verify_chain(&reader).unwrap().unwrap();
    let faults = examine(&reader).unwrap();
    assert!(faults.iter().any(|fault| fault.to_string().contains("without a body")), "{faults:?}");
    let refused = reader.memory().megrams(&MegramSelection::All).unwrap_err().to_string();
    assert!(refused.contains("event 2 has no body"), "{refused}");
}

#[test]
fn who_reads_an_older_state_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let apple = megram("apple");
    store.memory().remember(vec![apple.clone()]).wait().unwrap();
    let other = stranger(dir.path());
    other.execute_batch("BEGIN; SELECT * FROM events").unwrap();
    store.memory().forget(vec![apple.id]).wait().unwrap();
    assert_eq!(store.scrub(), Ok(false));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.scrub(), Ok(true));
    assert!(!has(dir.path(), "apple"));
}
