use crate::{
    NewRun, PermitAnswer, PermitTask, ReconciliationClaim, Store,
    tests::fixture::{NOW, first, name, new_run, open, run_id, started, stranger},
};
use wf_base::name::PlanId;
use wf_core::{
    goal::ReconciliationCause,
    machine::TaskId,
    permit::{ParallelLimit, ParallelLimits},
};

const GIVEN: PermitAnswer = PermitAnswer::Given { previous_task: None };

fn at_most(in_workspace: u32) -> ParallelLimits {
    ParallelLimits { in_workspace: Some(in_workspace), ..ParallelLimits::default() }
}

fn ask(store: &Store, limits: ParallelLimits, run: u8, step: &str) -> PermitAnswer {
    store.try_permit(limits, &run_id(run), &TaskId::of_step(&name(step))).wait().unwrap()
}

fn give_back(store: &Store, run: u8, step: &str) {
    store.return_permit(&run_id(run), &TaskId::of_step(&name(step))).wait().unwrap();
}

fn task(run: u8, step: &str) -> PermitTask {
    PermitTask { run: run_id(run), place: step.into(), since: NOW }
}

fn kept_back() -> PermitAnswer {
    PermitAnswer::Waits(Some(ParallelLimit::Workspace))
}

#[test]
fn stores_share_the_limit_and_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, other) = (open(dir.path()), open(dir.path()));
    let one = at_most(1);
    assert_eq!(ask(&mine, one, 1, "fetch"), GIVEN);
    assert_eq!(ask(&mine, one, 1, "fetch"), GIVEN, "asked twice");
    assert_eq!(ask(&mine, one, 1, "send"), kept_back());
    assert_eq!(ask(&other, one, 2, "fetch"), kept_back());
    let tasks = other.reader().unwrap().leases().permit_tasks().unwrap();
    assert_eq!(tasks, (vec![task(1, "fetch")], vec![task(1, "send"), task(2, "fetch")]));
    give_back(&other, 1, "fetch");
    assert_eq!(ask(&mine, one, 1, "send"), kept_back(), "not the holder's to give");
    give_back(&mine, 1, "fetch");
    // The first that came is the next, whoever asks.
    assert_eq!(ask(&other, one, 2, "fetch"), PermitAnswer::Waits(None));
    assert_eq!(ask(&mine, one, 1, "send"), GIVEN);
    assert_eq!(ask(&mine, one, 1, "again"), kept_back());
    give_back(&mine, 1, "send");
    assert_eq!(ask(&mine, one, 1, "again"), PermitAnswer::Waits(None), "its run was served");
    drop(mine);
    assert_eq!(ask(&other, one, 2, "fetch"), GIVEN);
    let tasks = other.reader().unwrap().leases().permit_tasks().unwrap();
    assert_eq!(tasks, (vec![task(2, "fetch")], vec![]), "a closed store waits for nothing");
}

#[test]
fn a_permit_of_the_dead_counts_until_it_is_passed_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let two = at_most(2);
    for (run, step) in [(1, "fetch"), (2, "fetch"), (2, "send")] {
        ask(&store, two, run, step);
    }
    stranger(dir.path()).execute_batch("UPDATE permits SET boot_id = 'before'").unwrap();
    let heir = open(dir.path());
    assert_eq!(ask(&heir, two, 1, "fetch"), GIVEN, "its own is taken over");
    // The wait of the dead does not count, and their permit once.
    assert_eq!(ask(&heir, two, 3, "fetch"), PermitAnswer::Given { previous_task: Some(task(2, "fetch")) });
    assert_eq!(ask(&heir, two, 4, "fetch"), kept_back());
    let free = at_most(4);
    assert_eq!(ask(&heir, free, 4, "fetch"), GIVEN);
}

#[test]
fn the_record_says_which_run_counts() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let append =
        |run, new| drop(store.append(first(&run_id(run), new, vec![started("fetch")])).wait().unwrap());
    append(1, new_run("report"));
    append(2, NewRun { parent: Some((run_id(1), "a#1".into())), ..new_run("part") });
    let of_run = ParallelLimits { in_run: Some(1), ..ParallelLimits::default() };
    assert_eq!(ask(&store, of_run, 1, "fetch"), GIVEN);
    assert_eq!(ask(&store, of_run, 2, "fetch"), PermitAnswer::Waits(Some(ParallelLimit::Run)));
    assert_eq!(ask(&store, of_run, 3, "fetch"), GIVEN);
    for (run, cause) in [(4, ReconciliationCause::Schedule), (5, ReconciliationCause::Person)] {
        let goal = PlanId::parse("report").unwrap();
        let claim = ReconciliationClaim::Look { goal, slot: None, cause, token: None, by_backend: false };
        append(run, NewRun { claim: Some(claim), ..new_run("report") });
        assert_eq!(ask(&store, of_run, run, "fetch"), GIVEN);
    }
    let db = stranger(dir.path());
    let mut rows =
        db.prepare("SELECT run, is_scheduled FROM permits WHERE acquired_at > 0 ORDER BY run").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?))).unwrap();
    let lanes: Vec<(String, bool)> = rows.collect::<Result<_, _>>().unwrap();
    let expected = [(1, false), (3, false), (4, true), (5, false)];
    assert_eq!(lanes, expected.map(|(run, is_scheduled)| (run_id(run).to_string(), is_scheduled)));
}
