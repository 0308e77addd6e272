use std::{sync::Arc, time::Duration};

use serde_json::json;

use crate::{
    NewRun, RunChoice, RunListOrder, RunTrigger, Store, StoreDurability,
    tests::fixture::{NOW, first, new_run, object, open, run_ended, run_id, started, stranger},
};
use wf_base::{
    name::{PlanId, RunId},
    time::{FixedClock, Moment},
};
use wf_core::machine::{EventKind, RunOutcome};

fn second(number: u64) -> Moment {
    NOW.after(Duration::from_secs(number))
}

/// Adds a run that began at a second and took some, with an outcome if it has ended.
fn add(store: &Store, number: u8, new: NewRun, at: u64, ended: Option<(u64, RunOutcome)>) {
    let fact = ended.map(|(_, outcome)| match run_ended() {
        EventKind::RunEnded { standing, counts, failures, outputs, .. } => EventKind::RunEnded {
            outcome,
            reason: format!("step `build` {}", outcome.as_str()),
            failed_step: None,
            standing,
            counts,
            failures,
            stale: Vec::new(),
            outputs,
            accepted: None,
            offers: wf_core::machine::RunOffers::default(),
        },
        other => panic!("{other:?}"),
    });
    let mut batch = first(&run_id(number), NewRun { created: second(at), ..new }, fact.into_iter().collect());
    if let Some((took, _)) = ended {
        batch.events[0].at = second(at + took);
    }
    store.append(batch).wait().unwrap();
}

fn of_goal(part: &str) -> NewRun {
    NewRun { config: json!({"goal": part}), ..new_run("mirror") }
}

/// Five runs: a long success, a short failure with a parameter of its own, one that goes on, a check and a repair.
fn filled(store: &Store) {
    add(store, 1, new_run("release"), 0, Some((60, RunOutcome::Succeeded)));
    let params = object(json!({"region": "100%_eu"}));
    add(store, 2, NewRun { params, ..new_run("nightly") }, 10, Some((5, RunOutcome::Failed)));
    add(store, 3, new_run("release"), 20, None);
    add(store, 4, of_goal("look"), 30, Some((1, RunOutcome::Failed)));
    add(store, 5, of_goal("repair"), 40, Some((20, RunOutcome::Cancelled)));
    let nested = NewRun { parent: Some((run_id(1), "inner#1".into())), ..new_run("inner") };
    add(store, 6, nested, 50, Some((1, RunOutcome::Failed)));
}

fn ids(numbers: &[u8]) -> Vec<RunId> {
    numbers.iter().copied().map(run_id).collect()
}

#[test]
fn runs_are_chosen_by_what_is_known_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    filled(&store);
    let reader = store.reader().unwrap();
    let check = |choice: RunChoice, expected: &[u8]| {
        let read = choice.read(&reader, 0, 9, second(100)).unwrap();
        let found: Vec<RunId> = read.rows.into_iter().map(|row| row.id).collect();
        assert_eq!((found, read.has_more), (ids(expected), false), "{choice:?}");
        assert_eq!(choice.count(&reader).unwrap(), expected.len() as u64, "{choice:?}");
    };
    let any = || RunChoice { trigger: RunTrigger::Any, ..RunChoice::default() };
    check(RunChoice::default(), &[5, 3, 2, 1]);
    check(any(), &[5, 4, 3, 2, 1]);
    check(RunChoice { trigger: RunTrigger::People, ..any() }, &[3, 2, 1]);
    check(RunChoice { trigger: RunTrigger::Goals, ..any() }, &[5, 4]);
    check(RunChoice { trigger: RunTrigger::Checks, ..any() }, &[4]);
    check(RunChoice { plan: Some(PlanId::parse("release").unwrap()), ..any() }, &[3, 1]);
    check(RunChoice { outcomes: vec![RunOutcome::Failed], ..any() }, &[4, 2]);
    check(RunChoice { outcomes: vec![RunOutcome::Failed], has_unended: true, ..any() }, &[4, 3, 2]);
    check(RunChoice { has_unended: true, without: ids(&[3]), ..any() }, &[]);
    check(RunChoice { since: Some(second(10)), until: Some(second(30)), ..any() }, &[3, 2]);
    for (text, expected) in [
        ("NIGHTLY", &[2][..]),
        ("100%_EU", &[2]),
        ("0202", &[2]),
        ("`build` can", &[5]),
        ("%", &[2]),
        ("none", &[]),
    ] {
        check(RunChoice { text: text.into(), ..any() }, expected);
    }
}

#[test]
fn runs_are_sorted_and_read_page_by_page() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    filled(&store);
    let reader = store.reader().unwrap();
    let check = |order: RunListOrder, expected: &[u8]| {
        let choice = RunChoice { order, ..RunChoice::default() };
        let page = |offset| choice.read(&reader, offset, 3, second(50)).unwrap();
        let (first, rest) = (page(0), page(3));
        assert!(first.has_more && !rest.has_more, "{order:?}");
        let found: Vec<RunId> = first.rows.into_iter().chain(rest.rows).map(|row| row.id).collect();
        assert_eq!(found, ids(expected), "{order:?}");
        assert!(page(usize::MAX).rows.is_empty(), "{order:?}");
    };
    check(RunListOrder::Latest, &[5, 3, 2, 1]);
    check(RunListOrder::Earliest, &[1, 2, 3, 5]);
    // The one that no process has stands still since its last event.
    check(RunListOrder::Longest, &[1, 5, 2, 3]);
    check(RunListOrder::Shortest, &[3, 2, 5, 1]);
    check(RunListOrder::Plan, &[5, 2, 3, 1]);
    check(RunListOrder::PlanBackwards, &[3, 1, 2, 5]);
}

#[test]
fn the_time_in_which_nobody_worked_does_not_make_a_run_long() {
    let dir = tempfile::tempdir().unwrap();
    let open_at =
        |at: u64| Store::open(dir.path(), StoreDurability::Normal, Arc::new(FixedClock(second(at)))).unwrap();
    let store = open_at(4);
    let fence = store.own_run(&run_id(1), "").wait().unwrap();
    let mut batch = first(&run_id(1), new_run("release"), vec![started("fetch")]);
    batch.token = fence.token();
    batch.events[0].at = second(4);
    store.append(batch).wait().unwrap();
    drop((fence, store));
    let store = open_at(1_000);
    let fence = store.own_run(&run_id(1), "").wait().unwrap();
    add(&store, 2, new_run("release"), 0, Some((60, RunOutcome::Succeeded)));
    let choice = RunChoice { order: RunListOrder::Longest, ..RunChoice::default() };
    let read = choice.read(&store.reader().unwrap(), 0, 9, second(1_001)).unwrap();
    let found: Vec<RunId> = read.rows.into_iter().map(|row| row.id).collect();
    assert_eq!(found, ids(&[2, 1]), "it lay for a quarter of an hour");
    drop(fence);
}

#[test]
fn a_chosen_run_has_the_end_that_its_log_has() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    filled(&store);
    stranger(dir.path()).execute("UPDATE main.runs SET outcome = 'succeeded'", []).unwrap();
    let reader = crate::StoreReader::open(dir.path()).unwrap();
    let read = |outcomes: Vec<RunOutcome>| {
        let choice = RunChoice { outcomes, ..RunChoice::default() };
        choice
            .read(&reader, 0, 9, second(100))
            .unwrap()
            .rows
            .into_iter()
            .map(|row| row.state)
            .collect::<Vec<_>>()
    };
    let words: Vec<String> = read(vec![])
        .iter()
        .map(|state| serde_json::to_value(state).unwrap().as_str().unwrap().to_owned())
        .collect();
    assert_eq!(words, ["cancelled", "running", "failed", "succeeded"]);
    assert_eq!(read(vec![RunOutcome::Succeeded]).len(), 1, "the others only seem to have succeeded");
}
