//! The runs that go on: who works on one that is nested, how far it has come, and which run is the latest.

use crate::{
    NewRun, RunState, Store,
    tests::fixture::{
        NOW, attempt, ended, first, name, new_run, object, open, run_ended, run_id, started, story,
    },
};
use serde_json::json;
use wf_core::machine::{StepCounts, StepState, TaskId};

/// Records a run in another one, with a step that has begun.
fn nest(store: &Store, number: u8, above: u8) {
    let parent = Some((run_id(above), attempt("all", None, 1).to_string()));
    let new = NewRun { parent, ..new_run("inner") };
    let mut batch = first(&run_id(number), new, vec![started("one")]);
    batch.token.run = run_id(1);
    batch.token.number = 1;
    store.append(batch).wait().unwrap();
}

#[test]
fn a_nested_run_is_worked_on_by_the_process_of_the_outermost_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let fence = store.own_run(&run_id(1), "kept").wait().unwrap();
    let mut batch = first(&run_id(1), new_run("outer"), vec![started("all")]);
    batch.token = fence.token();
    store.append(batch).wait().unwrap();
    nest(&store, 2, 1);
    nest(&store, 3, 2);
    let owner = |number| store.reader().unwrap().leases().owner(&run_id(number)).unwrap();
    for number in 1..=3 {
        let found = owner(number).unwrap_or_else(|| panic!("nobody works on {number}"));
        assert!(found.alive && found.pid == std::process::id(), "{number}: {found:?}");
    }
    drop(fence);
    // The store does things in order, so the fence is released before this is answered.
    drop(store.own_run(&run_id(9), "").wait().unwrap());
    assert_eq!([1, 2, 3].map(owner), [None, None, None]);
}

#[test]
fn the_steps_of_a_run_that_goes_on_are_counted_by_their_ends() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut facts = story();
    facts.truncate(facts.len() - 1);
    store.append(first(&run_id(1), new_run("report"), facts)).wait().unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.runs().get(&run_id(1)).unwrap().state, RunState::Running);
    // An item that failed is a part of a step that goes on.
    let expected = StepCounts { verified: 1, reported: 1, skipped: 1, ..StepCounts::default() };
    let counts = reader.steps().counts(&run_id(1)).unwrap();
    assert_eq!((counts, counts.total()), (expected, 3));
    let end = ended(TaskId::of_step(&name("load")), StepState::Failed);
    store.append(crate::tests::fixture::next(&run_id(1), vec![end])).wait().unwrap();
    assert_eq!(store.reader().unwrap().steps().counts(&run_id(1)).unwrap().failed, 1);
}

#[test]
fn what_a_slot_began_is_the_latest_run_only_where_there_is_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let add = |number: u8, part: Option<&str>, slot: &str| {
        let config = part.map_or(json!({}), |part| json!({"goal": part}));
        let new = NewRun { config, params: object(json!({"slot": slot})), ..new_run("report") };
        store.append(first(&run_id(number), new, vec![run_ended()])).wait().unwrap();
        store.reader().unwrap().runs().last().unwrap()
    };
    let slot = NOW.to_string();
    assert_eq!(add(1, Some("look"), &slot), run_id(1));
    assert_eq!(add(2, Some("repair"), &slot), run_id(2), "there is no other");
    assert_eq!(add(3, None, ""), run_id(3));
    assert_eq!(add(4, Some("look"), &slot), run_id(3));
    assert_eq!(add(5, Some("repair"), &slot), run_id(3));
    assert_eq!(add(6, Some("repair"), ""), run_id(6), "a person asked for it");
}
