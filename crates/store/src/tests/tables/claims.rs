//! Somebody who may write to the database says of runs that they have ended, or have not.

use std::path::Path;

use crate::{
    NewRun, ReconciliationClaim, ReconciliationEnd, RunRetention, Store, StoreError,
    tests::fixture::{LATER, NOW, first, new_run, next, open, run_ended, run_id, started, stranger},
    verify_chain,
};
use wf_base::name::{PlanId, RunId};
use wf_core::{
    goal::{GoalOutcome, ReconciliationCause, ReconciliationHealth},
    machine::EventKind,
};

/// The first run of a reconciliation, which a user asked for.
fn look(store: &Store, number: u8) {
    look_with(store, number, vec![run_ended()]);
}

/// The same, with these facts.
fn look_with(store: &Store, number: u8, facts: Vec<EventKind>) {
    let claim = ReconciliationClaim::Look {
        goal: PlanId::parse("lamp").unwrap(),
        slot: None,
        cause: ReconciliationCause::Person,
        token: None,
        by_backend: false,
    };
    let new = NewRun { claim: Some(claim), ..new_run("lamp") };
    store.append(first(&run_id(number), new, facts)).wait().unwrap();
}

/// A run that repairs in the reconciliation of another.
fn repair(store: &Store, number: u8, cycle: u8, facts: Vec<EventKind>) -> Result<(), StoreError> {
    let claim = Some(ReconciliationClaim::Repair { cycle: run_id(cycle), by_backend: false });
    let new = NewRun { claim, ..new_run("lamp") };
    store.append(first(&run_id(number), new, facts)).wait().map(drop)
}

/// Records the end of a reconciliation.
fn end(store: &Store, number: u8, health: ReconciliationHealth) -> Result<bool, StoreError> {
    let outcome = GoalOutcome { health, reason: String::new() };
    let (run, notices) = (run_id(number), Vec::new());
    let end = ReconciliationEnd { run, outcome, at: NOW, pause: None, notices };
    store.reconciliations().end(end).wait()
}

/// True if the table of runs has a repair that has not ended.
fn table_has_live_repair(dir: &Path) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM reconciliations JOIN runs ON runs.id = repair_run
                              WHERE outcome IS NULL)";
    stranger(dir).query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn no_change_of_the_table_of_runs_lets_two_repairs_run_or_holds_one_back() {
    let of_it = format!("WHERE id = '{}'", run_id(3));
    let other = format!("SELECT key FROM runs WHERE id = '{}'", run_id(1));
    for (lives, attack) in [
        (true, format!("UPDATE runs SET outcome = 'succeeded', ended = 1 {of_it}")),
        (true, format!("DELETE FROM runs {of_it}")),
        (true, format!("UPDATE runs SET outcome = 'failed', key = 1 - key {of_it}")),
        (true, format!("UPDATE OR REPLACE runs SET outcome = 'failed', key = ({other}) {of_it}")),
        (false, format!("UPDATE runs SET outcome = NULL, ended = NULL {of_it}")),
        (false, format!("UPDATE runs SET outcome = NULL, key = 1 - key {of_it}")),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        look(&store, 1);
        look(&store, 2);
        let facts = vec![if lives { started("mend") } else { run_ended() }];
        repair(&store, 3, 1, facts).unwrap();
        // The control: the table says the opposite of the log.
        assert_eq!(table_has_live_repair(dir.path()), lives, "{attack}");
        assert_eq!(stranger(dir.path()).execute(&attack, []).unwrap(), 1, "{attack}");
        assert_eq!(table_has_live_repair(dir.path()), !lives, "{attack}");
        let second = repair(&store, 4, 2, vec![]);
        if lives {
            assert_eq!(second, Err(StoreError::NotOpen(run_id(2))), "{attack}");
        } else {
            assert_eq!(second, Ok(()), "{attack}");
        }
    }
}

#[test]
fn a_repair_that_was_pruned_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    look(&store, 1);
    repair(&store, 3, 1, vec![run_ended()]).unwrap();
    assert_eq!(end(&store, 1, ReconciliationHealth::Healthy), Ok(true));
    let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 2);
    look(&store, 2);
    assert_eq!(repair(&store, 4, 2, vec![]), Ok(()));
}

#[test]
fn a_repair_that_runs_holds_others_back_however_its_reconciliation_ends() {
    use ReconciliationHealth::{Cancelled, Failed, Healthy, Repaired, Unknown, Waiting};
    for health in [Healthy, Repaired, Failed, Unknown, Waiting, Cancelled] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        look(&store, 1);
        look(&store, 2);
        repair(&store, 3, 1, vec![started("mend")]).unwrap();
        let ends = matches!(health, Waiting | Cancelled);
        let refused = Err(StoreError::NotOpen(run_id(1)));
        assert_eq!(end(&store, 1, health), if ends { Ok(true) } else { refused }, "{health:?}");
        assert_eq!(repair(&store, 4, 2, vec![]), Err(StoreError::NotOpen(run_id(2))), "{health:?}");
        store.append(next(&run_id(3), vec![run_ended()])).wait().unwrap();
        // Only one that waits ends anew.
        assert_eq!(end(&store, 1, health), Ok(health != Cancelled), "{health:?}");
        assert_eq!(repair(&store, 4, 2, vec![]), Ok(()), "{health:?}");
    }
}

#[test]
fn a_claim_is_refused_where_the_end_of_the_other_repair_was_forged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    look(&store, 1);
    look(&store, 2);
    repair(&store, 3, 1, vec![run_ended()]).unwrap();
    store.append(first(&run_id(5), new_run("other"), vec![])).wait().unwrap();
    let attack = "UPDATE events SET body = replace(body, 'succeeded', 'cancelled')
                  WHERE kind = 'run_ended' AND run = (SELECT key FROM runs WHERE id = ?1)";
    assert_eq!(stranger(dir.path()).execute(attack, [run_id(3).as_str()]).unwrap(), 1);
    assert!(matches!(repair(&store, 4, 2, vec![]), Err(StoreError::Broken { .. })));
}

#[test]
fn no_change_of_the_table_of_runs_prunes_one_that_has_not_ended() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(1), new_run("report"), vec![])).wait().unwrap();
    let attack = "UPDATE runs SET outcome = 'succeeded', ended = 1";
    assert_eq!(stranger(dir.path()).execute(attack, []).unwrap(), 1);
    let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 0);
    assert_eq!(verify_chain(&store.reader().unwrap()).unwrap(), Ok(1));
    // The control: it is pruned once the log says the same.
    store.append(next(&run_id(1), vec![run_ended()])).wait().unwrap();
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 1);
}

#[test]
fn no_change_of_the_table_of_runs_hides_a_reconciliation_that_waits_or_shows_another() {
    let of_it = format!("WHERE id = '{}'", run_id(1));
    for (waits, attack) in [
        (true, format!("UPDATE runs SET outcome = 'succeeded', ended = 1 {of_it}")),
        (true, format!("DELETE FROM runs {of_it}")),
        (true, format!("UPDATE runs SET outcome = 'failed', ended = 1, key = 1 - key {of_it}")),
        // It ended before the reconciliation did, which waits for an approval.
        (false, format!("UPDATE runs SET outcome = NULL, ended = NULL {of_it}")),
        (false, format!("UPDATE runs SET ended = {} {of_it}", LATER.millis())),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        look_with(&store, 1, if waits { vec![] } else { vec![run_ended()] });
        assert_eq!(end(&store, 1, ReconciliationHealth::Waiting), Ok(true));
        // The control: the table says the same as the log, and then the opposite.
        let table_has = || -> bool {
            let sql = "SELECT EXISTS (SELECT 1 FROM reconciliations JOIN runs ON runs.id = run
                                      WHERE outcome IS NULL OR runs.ended > reconciliations.ended)";
            stranger(dir.path()).query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(table_has(), waits, "{attack}");
        assert_eq!(stranger(dir.path()).execute(&attack, []).unwrap(), 1, "{attack}");
        assert_eq!(table_has(), !waits, "{attack}");
        for reader in [store.reader().unwrap(), store.log_reader().unwrap()] {
            let waiting = reader.reconciliations().waiting().unwrap();
            let runs: Vec<_> = waiting.into_iter().map(|cycle| cycle.run).collect();
            assert_eq!(runs, if waits { vec![run_id(1)] } else { vec![] }, "{attack}");
        }
    }
}

#[test]
fn a_reconciliation_waits_for_a_run_that_ended_since_until_that_is_pruned() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    look_with(&store, 1, vec![]);
    assert_eq!(end(&store, 1, ReconciliationHealth::Waiting), Ok(true));
    // The second event is later than the end of the reconciliation.
    store.append(next(&run_id(1), vec![started("ask"), run_ended()])).wait().unwrap();
    assert_eq!(store.reader().unwrap().reconciliations().waiting().unwrap().len(), 1);
    let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 1);
    assert_eq!(store.reader().unwrap().reconciliations().waiting().unwrap(), []);
}

#[test]
fn no_forged_record_of_pruning_ends_a_repair() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.append(first(&run_id(7), new_run("report"), vec![run_ended()])).wait().unwrap();
    let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 1);
    look(&store, 1);
    look(&store, 2);
    repair(&store, 3, 1, vec![started("mend")]).unwrap();
    let database = stranger(dir.path());
    let forged = "UPDATE events SET body = replace(body, ?1, ?2) WHERE kind = 'runs_pruned'";
    let ids = [run_id(7), run_id(3)];
    assert_eq!(database.execute(forged, ids.each_ref().map(RunId::as_str)).unwrap(), 1);
    assert_eq!(database.execute("DELETE FROM runs WHERE id = ?1", [ids[1].as_str()]).unwrap(), 1);
    assert!(matches!(repair(&store, 4, 2, vec![]), Err(StoreError::Broken { .. })));
}
