use super::super::{BrokenChain, ChainFault, StoreReader, verify_chain};
use super::fixture::{first, new_run, next, open, run_id, started, story, stranger};

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
