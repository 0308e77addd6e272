use crate::{
    BrokenChain, ChainFault, StoreError, StoreReader, examine_after,
    log::tail::{RunPosition, hash},
    tests::fixture::{first, new_run, next, open, run_id, started, story, stranger},
    verify_chain, verify_chain_after,
};
use rusqlite::Connection;
use wf_base::digest::Sha256Digest;

/// Records two runs (22 and 3 events), tampers with the log, and verifies it.
fn check(sql: &str) -> Result<u64, (u64, ChainFault)> {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(1), new_run("report"), story())).wait().unwrap();
    let facts = vec![started("fetch"), started("send")];
    store.append(first(&run_id(2), new_run("report"), facts)).wait().unwrap();
    drop(store);
    stranger(dir.path()).execute_batch(sql).unwrap();
    let found = verify_chain(&StoreReader::open(dir.path()).unwrap()).unwrap();
    found.map_err(|BrokenChain { seq, fault, .. }| (seq, fault))
}

#[test]
fn every_tampering_is_found_where_it_was_done() {
    use ChainFault::{Changed, Missing, Unlinked};
    let swap = "UPDATE events SET seq = -1 WHERE seq = 4; UPDATE events SET seq = 4 WHERE seq = 5;
                UPDATE events SET seq = 5 WHERE seq = -1";
    let insert = "INSERT INTO events (seq, run, run_seq, body_version, body, prev, hash)
                  SELECT 26, run, run_seq + 1, body_version, body, prev, hash FROM events WHERE seq = 25";
    for (sql, found) in [
        ("", Ok(25)),
        ("UPDATE events SET body = replace(body, 'fetch', 'patch') WHERE seq = 5", Err((5, Changed))),
        ("UPDATE events SET run_seq = 99 WHERE seq = 5", Err((5, Changed))),
        ("UPDATE events SET run = 2 WHERE seq = 5", Err((5, Changed))),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 25", Err((25, Changed))),
        ("UPDATE events SET body = NULL, digest = zeroblob(32) WHERE seq = 5", Err((5, Changed))),
        ("DELETE FROM events WHERE seq = 5", Err((6, Unlinked))),
        ("DELETE FROM events WHERE seq = 1", Err((2, Unlinked))),
        (swap, Err((4, Unlinked))),
        (insert, Err((26, Changed))),
        ("UPDATE events SET seq = 30 WHERE seq = 25", Err((30, Unlinked))),
        ("DELETE FROM events WHERE seq >= 22", Err((22, Missing))),
        ("DELETE FROM events WHERE seq >= 23", Err((23, Missing))),
    ] {
        assert_eq!(check(sql), found, "{sql}");
    }
}

/// Gives an event the hash of its content, as a forger does who changed it.
pub(super) fn rehash(database: &Connection, seq: i64) {
    let sql = "SELECT run, run_seq, body_version, prev, body FROM events WHERE seq = ?1";
    let own = database.query_row(sql, [seq], |row| {
        let place = RunPosition { run: row.get(0)?, n: row.get(1)?, v: row.get(2)? };
        let (prev, body): ([u8; 32], String) = (row.get(3)?, row.get(4)?);
        Ok(hash(&prev.into(), place, &Sha256Digest::of_bytes(body.as_bytes())))
    });
    let set = "UPDATE events SET hash = ?2 WHERE seq = ?1";
    database.execute(set, (seq, own.unwrap().bytes())).unwrap();
}

/// Binds the events from one on anew, up to another.
fn rebind(database: &Connection, from: i64, until: i64) {
    for seq in from..=until {
        let sql = "UPDATE events SET prev = (SELECT hash FROM events WHERE seq = ?1 - 1) WHERE seq = ?1";
        database.execute(sql, [seq]).unwrap();
        rehash(database, seq);
    }
}

/// A run of 22 events between two others of three.
fn three_runs(dir: &std::path::Path) -> Connection {
    let store = open(dir);
    let facts = || vec![started("fetch"), started("send")];
    store.append(first(&run_id(1), new_run("report"), facts())).wait().unwrap();
    store.append(first(&run_id(2), new_run("report"), story())).wait().unwrap();
    store.append(first(&run_id(3), new_run("report"), facts())).wait().unwrap();
    drop(store);
    stranger(dir)
}

#[test]
fn a_fold_finds_an_event_that_was_forged_with_a_hash_that_fits() {
    let forged = "UPDATE events SET body = replace(body, 'fetch', 'patch') WHERE seq = 8";
    let renamed = "UPDATE events SET body = replace(body, 'report', 'attack') WHERE seq = 4";
    let cut = "DELETE FROM events WHERE run = 4 AND run_seq > 5";
    // The last event that is bound anew: with 0 none is, and 25 is the last of the run.
    for (attack, changed, until, found) in [
        ("SELECT 1", None, 0, None),
        (forged, Some(8), 0, Some(8)),
        (forged, Some(8), 24, Some(24)),
        (forged, Some(8), 25, Some(26)),
        (renamed, Some(4), 0, Some(4)),
        (renamed, Some(4), 25, Some(26)),
        ("DELETE FROM events WHERE seq = 9", None, 0, Some(8)),
        // Nothing that this run is folded from tells of the others, but its neighbours do.
        ("DELETE FROM events WHERE run = 1", None, 0, Some(4)),
        (cut, None, 0, Some(26)),
        ("DELETE FROM events WHERE run = 26", None, 0, None),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let database = three_runs(dir.path());
        database.execute_batch(attack).unwrap();
        if let Some(seq) = changed {
            rehash(&database, seq);
            rebind(&database, seq + 1, until);
            // The control: each event of the run has the hash of its content.
            let own = "SELECT hash FROM events WHERE run = 4 ORDER BY seq";
            let own = |database: &Connection| -> Vec<Vec<u8>> {
                let mut hashes = database.prepare(own).unwrap();
                let hashes = hashes.query_map([], |row| row.get(0)).unwrap();
                hashes.map(Result::unwrap).collect()
            };
            let before = own(&database);
            (4..=25).for_each(|seq| rehash(&database, seq));
            assert_eq!(own(&database), before, "{attack}");
        }
        // Who opens one run does not compare the events of another.
        std::fs::remove_file(dir.path().join("state.mark")).unwrap();
        let read = StoreReader::from_log(dir.path()).and_then(|reader| reader.runs().get(&run_id(2)));
        let fault = match read {
            Ok(_) => None,
            Err(StoreError::Broken { broken, .. }) => {
                assert_eq!(broken.fault, ChainFault::Unlinked, "{attack}");
                Some(broken.seq)
            }
            Err(other) => panic!("{attack}: {other}"),
        };
        assert_eq!(fault, found, "{attack}, bound anew until {until}");
    }
}

#[test]
fn stores_that_write_at_once_keep_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for number in 0..3 {
            let dir = dir.path();
            scope.spawn(move || {
                let (store, run) = (open(dir), run_id(number));
                store.append(first(&run, new_run("report"), vec![])).wait().unwrap();
                for n in 1..=100 {
                    let appended = store.append(next(&run, vec![started("fetch")])).wait();
                    assert_eq!(appended.unwrap().last, n);
                }
            });
        }
    });
    let reader = StoreReader::open(dir.path()).unwrap();
    assert_eq!(verify_chain(&reader).unwrap(), Ok(303));
}

#[test]
fn behind_a_verified_event_every_tampering_is_found_and_before_it_none() {
    use ChainFault::{Changed, Unlinked};
    for (sql, found, rows) in [
        ("", Ok(25), 0),
        ("UPDATE events SET body = replace(body, 'fetch', 'patch') WHERE seq = 5", Ok(25), 0),
        ("DELETE FROM events WHERE seq = 5", Ok(25), 0),
        ("UPDATE steps SET state = 'failed' WHERE run = 1", Ok(25), 0),
        ("UPDATE steps SET state = 'skipped' WHERE run = 23 AND step = 'send'", Ok(25), 1),
        ("UPDATE runs SET plan = 'other' WHERE key = 23", Ok(25), 1),
        ("UPDATE events SET body = replace(body, 'fetch', 'patch') WHERE seq = 24", Err((24, Changed)), 0),
        ("DELETE FROM events WHERE seq = 24", Err((25, Unlinked)), 0),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = 22", Err((22, Unlinked)), 0),
        ("DELETE FROM events WHERE seq = 22", Err((22, Unlinked)), 0),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.append(first(&run_id(1), new_run("report"), story())).wait().unwrap();
        let verified = store.reader().unwrap().log().end().unwrap();
        let facts = vec![started("fetch"), started("send")];
        store.append(first(&run_id(2), new_run("report"), facts)).wait().unwrap();
        drop(store);
        stranger(dir.path()).execute_batch(sql).unwrap();
        let reader = StoreReader::open(dir.path()).unwrap();
        let checked = verify_chain_after(&reader, verified).unwrap();
        let checked = checked.map_err(|BrokenChain { seq, fault, .. }| (seq, fault));
        assert_eq!(checked, found, "{sql}");
        if checked.is_ok() {
            let faults = examine_after(&reader, 22).unwrap();
            assert_eq!(faults.len(), rows, "{sql}: {faults:?}");
        }
    }
}
