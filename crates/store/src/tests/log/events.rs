//! Somebody who may write to the database exchanges events while they are read.

use crate::{
    BrokenChain, ChainFault, RunRetention, StoreError, StoreReader, head,
    tests::{
        fixture::{LATER, first, new_run, open, run_id, started, story, stranger},
        log::chain::rehash,
    },
};

/// The event and the fault that a read is refused for.
fn refusal<T>(read: Result<T, StoreError>) -> Option<(u64, ChainFault)> {
    match read {
        Ok(_) => None,
        Err(StoreError::Broken { broken: BrokenChain { seq, fault, .. }, .. }) => Some((seq, fault)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn an_event_that_was_exchanged_since_it_was_folded_is_not_read() {
    use ChainFault::{Changed, Missing, Unlinked};
    let exchanged = "UPDATE events SET body = replace(body, 'fetch', 'patch') WHERE seq = 5";
    let hidden = "UPDATE events SET body = replace(body, 'attempt_started', 'run_timed_out') WHERE seq = 5";
    let emptied = "UPDATE events SET body = NULL, digest = zeroblob(32) WHERE seq = 5";
    for (attack, changed, found) in [
        ("SELECT 1", None, None),
        (exchanged, None, Some((5, Changed))),
        (exchanged, Some(5), Some((5, Unlinked))),
        (hidden, None, Some((5, Changed))),
        (hidden, Some(5), Some((5, Unlinked))),
        (emptied, None, Some((5, Changed))),
        ("DELETE FROM events WHERE seq = 5", None, Some((4, Unlinked))),
        ("DELETE FROM events WHERE seq >= 20", None, Some((20, Missing))),
        ("DELETE FROM events", None, Some((1, Missing))),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.append(first(&run_id(1), new_run("report"), story())).wait().unwrap();
        store.append(first(&run_id(2), new_run("report"), vec![started("send")])).wait().unwrap();
        let reader = StoreReader::from_log(dir.path()).unwrap();
        let kinds = ["attempt_started"];
        // The control: this folds the run.
        assert_eq!(reader.events().of_run(&run_id(1), 0).unwrap().len(), 21);
        assert_eq!(reader.events().of_kinds(&run_id(1), &kinds).unwrap().len(), 3);
        let database = stranger(dir.path());
        database.execute_batch(attack).unwrap();
        if let Some(seq) = changed {
            rehash(&database, seq);
        }
        let events = refusal(reader.events().of_run(&run_id(1), 0));
        let facts = refusal(reader.events().of_kinds(&run_id(1), &kinds));
        let last = refusal(head(&reader, &run_id(1)));
        assert_eq!([events, facts, last], [found; 3], "{attack}");
    }
}

#[test]
fn the_events_of_a_run_that_was_pruned_since_it_was_folded_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(1), new_run("report"), story())).wait().unwrap();
    let reader = store.log_reader().unwrap();
    assert_eq!(reader.events().of_run(&run_id(1), 0).unwrap().len(), 21);
    let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 1);
    assert_eq!(reader.events().of_run(&run_id(1), 0), Err(StoreError::UnknownRun(run_id(1))));
}
