//! Somebody who may write to the database says of runs that they have ended, or have not.

use std::path::Path;

use super::super::{
    NewRun, ReconciliationClaim, ReconciliationEnd, RunRetention, Store, StoreError, verify_chain,
};
use super::fixture::{NOW, first, new_run, next, open, run_ended, run_id, started, stranger};
use wf_base::name::PlanId;
use wf_base::time::Moment;
use wf_core::goal::{GoalOutcome, ReconciliationCause, ReconciliationHealth};
use wf_core::machine::EventKind;

/// An instant later than anything that these tests write.
const LATER: Moment = Moment::from_millis(NOW.millis() + 20 * 365 * 86_400_000);

/// The first run of a reconciliation, which a user asked for.
fn look(store: &Store, number: u8) {
    let claim = ReconciliationClaim::Look {
        goal: PlanId::parse("lamp").unwrap(),
        slot: None,
        cause: ReconciliationCause::Person,
        token: None,
    };
    let new = NewRun { claim: Some(claim), ..new_run("lamp") };
    store.append(first(&run_id(number), new, vec![run_ended()])).wait().unwrap();
}

/// A run that repairs in the reconciliation of another.
fn repair(store: &Store, number: u8, cycle: u8, facts: Vec<EventKind>) -> Result<(), StoreError> {
    let claim = Some(ReconciliationClaim::Repair { cycle: run_id(cycle) });
    let new = NewRun { claim, ..new_run("lamp") };
    store.append(first(&run_id(number), new, facts)).wait().map(drop)
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
    let verdict = GoalOutcome { health: ReconciliationHealth::Healthy, reason: String::new() };
    let (run, notices) = (run_id(1), Vec::new());
    let end = ReconciliationEnd { run, verdict, at: NOW, pause: None, notices };
    assert_eq!(store.end_cycle(end).wait(), Ok(true));
    let keep = RunRetention { max_age: None, max_runs: Some(0) };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 2);
    look(&store, 2);
    assert_eq!(repair(&store, 4, 2, vec![]), Ok(()));
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
    let keep = RunRetention { max_age: None, max_runs: Some(0) };
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 0);
    assert_eq!(verify_chain(&store.reader().unwrap()).unwrap(), Ok(1));
    // The control: it is pruned once the log says the same.
    store.append(next(&run_id(1), vec![run_ended()])).wait().unwrap();
    assert_eq!(store.prune(keep, LATER).unwrap().runs, 1);
}
