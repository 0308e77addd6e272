use crate::{
    EventBatch, LedgerGoal, NewRun, ReconciliationClaim, ReconciliationEnd, RepairFeedback, RunRetention,
    Store, StoreError, StoreReader,
    projections::difference,
    tests::fixture::{NOW, first, new_run, open, run_ended, run_id, stranger},
    verify_chain,
};
use std::{path::Path, time::Duration};
use wf_base::{name::PlanId, time::Moment};
use wf_core::goal::{
    GoalOutcome, ReconciliationCause, ReconciliationHealth, RepairOpinion, SlotDecision, SlotEntry, SlotState,
};
use wf_model::schedule::{CronExpression, DstPolicy, GoalSchedule, ScheduleZone, TimingRule};

fn lamp() -> PlanId {
    PlanId::parse("lamp").unwrap()
}

fn minute(number: i64) -> Moment {
    Moment::from_millis(NOW.millis() + number * 60_000)
}

/// Decides about the slot of a minute, after the one before it.
fn decide(store: &Store, number: i64) -> Result<bool, StoreError> {
    decide_as(store, number, None)
}

/// The same, under the token of a daemon.
fn decide_as(store: &Store, number: i64, token: Option<u64>) -> Result<bool, StoreError> {
    let rule = TimingRule::Cron {
        expression: CronExpression::parse("* * * * *").unwrap(),
        zone: ScheduleZone::utc(),
        dst: DstPolicy::default(),
    };
    let goal = LedgerGoal { id: lamp(), path: "goals/lamp.md".into(), schedule: GoalSchedule::of(rule) };
    let slot = SlotEntry::of(minute(number), SlotState::Due, ReconciliationCause::Schedule, "");
    let decided = minute(number);
    let decision =
        SlotDecision { rows: vec![slot], decided_until: decided, cancels_running: false, wake: None };
    let after = (number > 1).then(|| minute(number - 1));
    store.goals().record_decision(goal, after, decision, token, decided).wait()
}

/// The run that looks at the goal at the slot of a minute.
fn look(number: u8) -> EventBatch {
    look_by(number, false)
}

/// The same, started by the backend or here.
fn look_by(number: u8, by_backend: bool) -> EventBatch {
    let claim = ReconciliationClaim::Look {
        goal: lamp(),
        slot: Some(minute(i64::from(number))),
        cause: ReconciliationCause::Schedule,
        token: None,
        by_backend,
    };
    first(&run_id(number), NewRun { claim: Some(claim), ..new_run("lamp") }, vec![run_ended()])
}

fn end(number: u8) -> ReconciliationEnd {
    let verdict = GoalOutcome { health: ReconciliationHealth::Healthy, reason: String::new() };
    let notices = vec![serde_json::json!({"to": number})];
    ReconciliationEnd {
        run: run_id(number),
        outcome: verdict,
        at: minute(i64::from(number)),
        pause: None,
        notices,
    }
}

/// Two slots, the first of which was started and ended, and a pause.
fn lived(dir: &Path) -> Store {
    let store = open(dir);
    assert_eq!(decide(&store, 1), Ok(true));
    store.append(look(1)).wait().unwrap();
    assert_eq!(store.reconciliations().end(end(1)).wait(), Ok(true));
    assert_eq!(decide(&store, 2), Ok(true));
    assert_eq!(store.goals().pause(&lamp(), "broken", minute(2)).wait(), Ok(true));
    store
}

/// All that a daemon decides by.
fn shown(reader: &StoreReader) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        reader.goals().ledger(&lamp()).unwrap(),
        reader.slots().between(&lamp(), None, None).unwrap(),
        reader.reconciliations().latest(&lamp(), 10).unwrap(),
        reader.reconciliations().open().unwrap(),
        reader.notifications().unsent().unwrap(),
    )
}

#[track_caller]
fn differences(dir: &Path) -> Vec<String> {
    let reader = StoreReader::open(dir).unwrap();
    verify_chain(&reader).unwrap().unwrap();
    let found = difference::all(&reader, 0).unwrap();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_recorded_about_goals_is_what_the_tables_have() {
    let dir = tempfile::tempdir().unwrap();
    let store = lived(dir.path());
    assert_eq!(differences(dir.path()), [""; 0]);
    // A reader and a writer that saw it happen know what one that reads all of it knows.
    let reader = store.reader().unwrap();
    let before = shown(&reader);
    assert_eq!(store.goals().resume(&lamp(), minute(3)).wait(), Ok(true));
    store.append(look(2)).wait().unwrap();
    assert_ne!(shown(&reader), before);
    assert_eq!(shown(&reader), shown(&store.reader().unwrap()));
    stranger(dir.path()).execute_batch("DELETE FROM slots; UPDATE goals SET decided_until = 0").unwrap();
    assert!(differences(dir.path()).len() > 2);
    store.rebuild().wait().unwrap();
    assert_eq!(differences(dir.path()), [""; 0]);
}

#[test]
fn no_change_of_the_tables_of_goals_is_followed() {
    for (attack, named) in [
        (
            "UPDATE goals SET paused_at = NULL, reason = ''",
            "table `goals`, id=`lamp`: `paused_at` is nothing",
        ),
        (
            "UPDATE goals SET decided_until = decided_until - 60000",
            "table `goals`, id=`lamp`: `decided_until`",
        ),
        (
            "UPDATE goals SET decided_until = decided_until + 60000",
            "table `goals`, id=`lamp`: `decided_until`",
        ),
        ("UPDATE goals SET timing = '{}'", "table `goals`, id=`lamp`: `timing` is `{}`"),
        ("DELETE FROM goals", "table `goals`, id=`lamp`: row missing"),
        (
            "UPDATE slots SET state = 'due', run = NULL WHERE state = 'started'",
            "`state` is `due`, expected `started`",
        ),
        ("UPDATE slots SET state = 'skipped' WHERE state = 'due'", "`state` is `skipped`, expected `due`"),
        ("UPDATE slots SET slot = slot + 7 WHERE state = 'due'", "row not derivable from the log"),
        ("DELETE FROM slots", "table `slots`, goal=`lamp` slot="),
        ("DELETE FROM reconciliations", "table `reconciliations`, run=`"),
        ("UPDATE reconciliations SET ended = NULL, health = NULL", "`health` is nothing, expected `healthy`"),
        (
            "UPDATE notifications SET body = '{\"by\": {\"exec\": [\"sh\"]}}'",
            "table `notifications`, id=1: `body`",
        ),
        (
            "INSERT INTO notifications (goal, body, at) VALUES ('lamp', '{}', 0)",
            "table `notifications`, id=2",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = lived(dir.path());
        let before = shown(&store.reader().unwrap());
        stranger(dir.path()).execute_batch(attack).unwrap();
        let found = differences(dir.path());
        assert!(found.iter().any(|found| found.contains(named)), "{attack}: {found:#?}");
        assert_eq!(shown(&StoreReader::open(dir.path()).unwrap()), before, "{attack}");
        // Nor does another writer follow it.
        drop(store);
        let store = open(dir.path());
        assert_eq!(store.goals().pause(&lamp(), "again", NOW).wait(), Ok(false), "{attack}: it is paused");
        let again = store.append(look(1)).wait();
        assert!(again.is_err(), "{attack}: a slot is started once");
        assert_eq!(decide(&store, 2), Ok(false), "{attack}: it is accounted for");
        let dir = dir.path();
        assert_eq!(decide(&store, 3), Ok(true), "{attack}");
        store.append(look(2)).wait().unwrap_or_else(|error| panic!("{attack}: {error}"));
        assert_eq!(store.reconciliations().end(end(1)).wait(), Ok(false), "{attack}: it has ended");
        verify_chain(&StoreReader::open(dir).unwrap()).unwrap().unwrap();
    }
}

#[test]
fn no_change_of_the_table_of_feedback_is_followed() {
    for attack in [
        "UPDATE feedback SET opinion = 'fine'",
        "DELETE FROM feedback",
        "UPDATE reconciliations SET repair_run = NULL",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = lived(dir.path());
        store.append(look(2)).wait().unwrap();
        let claim = Some(ReconciliationClaim::Repair { cycle: run_id(2), by_backend: false });
        let repair = first(&run_id(3), NewRun { claim, ..new_run("lamp") }, vec![run_ended()]);
        store.append(repair).wait().unwrap();
        let said = RepairFeedback {
            run: run_id(3),
            goal: lamp(),
            opinion: RepairOpinion::Undone,
            note: String::new(),
            who: None,
            at: NOW,
        };
        assert_eq!(store.reconciliations().give_feedback(said.clone()).wait(), Ok(true));
        stranger(dir.path()).execute_batch(attack).unwrap();
        let repairs = store.reader().unwrap().reconciliations().repairs(&lamp(), 10).unwrap();
        assert_eq!(repairs[0].feedback.as_ref(), Some(&said), "{attack}");
        assert_eq!(
            store.reconciliations().give_feedback(said).wait(),
            Ok(false),
            "{attack}: it was said before"
        );
        assert_eq!(differences(dir.path()).len(), 1, "{attack}");
    }
}

#[test]
fn a_reader_without_the_log_would_follow_each_change() {
    let dir = tempfile::tempdir().unwrap();
    drop(lived(dir.path()));
    let database = stranger(dir.path());
    let known = || crate::tables::goals::known(&database, &lamp()).unwrap().unwrap();
    assert!(known().paused.is_some());
    database.execute_batch("UPDATE goals SET paused_at = NULL").unwrap();
    assert!(known().paused.is_none());
    database.execute_batch("DELETE FROM slots WHERE state = 'due'").unwrap();
    assert!(known().open_slots.is_empty());
    let kept = StoreReader::open(dir.path()).unwrap().goals().ledger(&lamp()).unwrap().unwrap();
    assert!(kept.paused.is_some() && kept.open_slots.len() == 1);
}

#[test]
fn a_record_about_a_goal_that_was_changed_is_refused() {
    for attack in [
        "UPDATE events SET body = replace(body, 'broken', 'mended') WHERE kind = 'rows_recorded'",
        "UPDATE events SET body = replace(body, 'rows_recorded', 'nothing') WHERE kind = 'rows_recorded'",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = lived(dir.path());
        stranger(dir.path()).execute_batch(attack).unwrap();
        let read = StoreReader::open(dir.path()).unwrap().goals().ledger(&lamp());
        assert!(matches!(read, Err(StoreError::Broken { .. })), "{attack}: {read:?}");
        drop(store);
        let wrote = open(dir.path()).goals().pause(&lamp(), "again", NOW).wait();
        assert!(matches!(wrote, Err(StoreError::Broken { .. })), "{attack}: {wrote:?}");
    }
}

#[test]
fn what_a_refused_job_changed_about_goals_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let store = lived(dir.path());
    let before = shown(&store.reader().unwrap());
    // The claim is good, and the run is not: it has the events of another one before it.
    let batch = EventBatch { after: Some(7), ..look(2) };
    let other = stranger(dir.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waits = store.release_run(&run_id(9));
    std::thread::sleep(Duration::from_millis(50));
    // Two jobs share a transaction, of which one is refused.
    let (done, refused) = (store.goals().resume(&lamp(), minute(2)), store.append(batch));
    other.execute_batch("ROLLBACK").unwrap();
    waits.wait().unwrap();
    assert_eq!(done.wait(), Ok(true));
    assert!(refused.wait().is_err());
    // The mark of the log's end is that of what was written.
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.goals().pause(&lamp(), "broken", minute(2)).wait(), Ok(true));
    assert_eq!(shown(&store.reader().unwrap()), before);
    assert_eq!(differences(dir.path()), [""; 0]);
    store.append(look(2)).wait().unwrap();
}

#[test]
fn what_is_pruned_about_goals_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for number in 1..=103 {
        decide(&store, i64::from(number)).unwrap();
        let mut batch = look(number);
        batch.new.as_mut().unwrap().created = minute(i64::from(number));
        store.append(batch).wait().unwrap();
        store.reconciliations().end(end(number)).wait().unwrap();
    }
    decide(&store, 104).unwrap();
    let keep = RunRetention { max_age: Some(Duration::from_mins(1)), ..RunRetention::default() };
    store.prune(keep, minute(1000)).unwrap();
    let reader = store.reader().unwrap();
    // What follows from the next reconciliation depends on the last ones.
    let cycles = reader.reconciliations().latest(&lamp(), 1000).unwrap();
    assert_eq!((cycles.len(), cycles[99].slot), (100, Some(minute(4))));
    let slots = reader.slots().between(&lamp(), None, None).unwrap();
    assert_eq!(slots.len(), 101, "theirs, and the one that is due");
    assert_eq!(differences(dir.path()), [""; 0]);
}

/// Pauses the goal and ends the pause, so often.
fn paused(store: &Store, times: i64) {
    for number in 0..times {
        store.goals().resume(&lamp(), minute(number)).wait().unwrap();
        store.goals().pause(&lamp(), "broken", minute(2)).wait().unwrap();
    }
}

#[test]
fn a_snapshot_saves_the_fold_of_what_was_before() {
    let snapshots = |dir: &Path| -> i64 {
        let sql = "SELECT count(*) FROM source_texts WHERE text LIKE 'rows_recorded%'";
        stranger(dir).query_row(sql, [], |row| row.get(0)).unwrap()
    };
    for attack in [
        "SELECT 1",
        "DELETE FROM source_texts WHERE text LIKE 'rows_recorded%'",
        "UPDATE source_texts SET text = replace(text, 'broken', 'mended')",
        "UPDATE goals SET paused_at = NULL; UPDATE slots SET state = 'skipped'",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = lived(dir.path());
        let reader = store.reader().unwrap();
        reader.goals().ledger(&lamp()).unwrap();
        paused(&store, 40);
        assert_eq!(snapshots(dir.path()), 1);
        let shown_before = shown(&store.reader().unwrap());
        assert_eq!(shown(&reader), shown_before, "a reader that folded all");
        stranger(dir.path()).execute_batch(attack).unwrap();
        assert_eq!(shown(&store.reader().unwrap()), shown_before, "{attack}");
        drop(store);
        let store = open(dir.path());
        paused(&store, 40);
        assert_eq!(snapshots(dir.path()), 1, "one is kept");
        assert_eq!(shown(&store.reader().unwrap()), shown_before, "{attack}");
        store.rebuild().wait().unwrap();
        assert_eq!(differences(dir.path()), [""; 0], "{attack}");
        // Nor does pruning take it away.
        let keep = RunRetention { max_runs: Some(0), ..RunRetention::default() };
        assert_eq!(store.prune(keep, minute(3)).unwrap().runs, 1);
        assert_eq!(snapshots(dir.path()), 1);
        assert_eq!(differences(dir.path()), [""; 0], "{attack}");
    }
}

#[test]
fn what_was_before_a_snapshot_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = lived(dir.path());
    paused(&store, 40);
    let before = shown(&store.reader().unwrap());
    let change = |until: &str| {
        let sql = format!(
            "UPDATE events SET body = replace(body, 'lamp', 'door') WHERE kind = 'rows_recorded' AND seq {until}
                 (SELECT max(seq) FROM events WHERE instr(body, '\"whole\"'))"
        );
        stranger(dir.path()).execute(&sql, []).unwrap()
    };
    assert!(change("<") > 60);
    assert_eq!(shown(&store.reader().unwrap()), before);
    assert!(change(">") > 0);
    assert!(store.reader().unwrap().goals().ledger(&lamp()).is_err());
}

#[test]
fn a_deployed_goal_is_decided_about_and_started_by_its_backend_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert_eq!(decide(&store, 1), Ok(true));
    let reader = store.reader().unwrap();
    let known = reader.goals().ledger(&lamp()).unwrap().unwrap();
    let deployment = |recorded: u64| serde_json::json!({"backend": "farm", "recorded": recorded});
    let deploy = |carried| store.goals().deploy(&lamp(), deployment(0), carried, NOW).wait();
    assert_eq!(
        store.goals().record_deployment(&lamp(), Some(deployment(1)), NOW).wait(),
        Ok(false),
        "it is not deployed"
    );
    assert_eq!(decide(&store, 2), Ok(true));
    assert_eq!(deploy(known), Ok(false), "the ledger went on meanwhile");
    let known = reader.goals().ledger(&lamp()).unwrap().unwrap();
    assert_eq!(deploy(known.clone()), Ok(true));
    assert_eq!(deploy(known), Ok(false), "it is deployed");
    // What a daemon decides does not count.
    let token = store.goals().take_leadership(1, NOW).wait().unwrap();
    assert_eq!(decide_as(&store, 3, Some(token)), Ok(false));
    assert_eq!(store.append(look(1)).wait().map(drop), Err(StoreError::Deployed(lamp())));
    // What its backend decided and started does.
    assert_eq!(decide(&store, 3), Ok(true));
    store.append(look_by(3, true)).wait().unwrap();
    let repair = |by_backend| {
        let claim = Some(ReconciliationClaim::Repair { cycle: run_id(3), by_backend });
        let new = NewRun { claim, ..new_run("lamp") };
        store.append(first(&run_id(4), new, vec![run_ended()])).wait().map(drop)
    };
    assert_eq!(repair(false), Err(StoreError::Deployed(lamp())));
    assert_eq!(repair(true), Ok(()));
    assert_eq!(store.goals().record_deployment(&lamp(), Some(deployment(1)), NOW).wait(), Ok(true));
    let goals = "UPDATE goals SET deployment = NULL";
    stranger(dir.path()).execute_batch(goals).unwrap();
    let found = differences(dir.path());
    assert!(found.iter().any(|found| found.contains("`deployment` is nothing")), "{found:#?}");
    let reader = StoreReader::open(dir.path()).unwrap();
    assert_eq!(reader.goals().deployment(&lamp()), Ok(Some(deployment(1))));
    assert_eq!(reader.goals().all().unwrap()[0].deployment, Some(deployment(1)));
    assert_eq!(store.goals().record_deployment(&lamp(), None, NOW).wait(), Ok(true));
    assert_eq!(store.reader().unwrap().goals().deployment(&lamp()), Ok(None));
    assert_eq!(decide_as(&store, 4, Some(token)), Ok(true));
    assert_eq!(differences(dir.path()), [""; 0]);
}
