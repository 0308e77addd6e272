use std::time::Duration;

use crate::{
    MegramSelection, RunRetention, StoreError, StoreReader, backup, restore,
    tests::fixture::{NOW, first, new_run, open, run_ended, run_id, stranger},
};
use wf_base::time::Moment;
use wf_core::memory::{DreamChanges, Megram, MegramLevel, MegramOrigin, MegramState, MegramTags, dream};

const DAY: i64 = 86_400_000;

fn ago(days: i64) -> Moment {
    Moment::from_millis(NOW.millis() - days * DAY)
}

fn megram(number: u8, state: MegramState, days: i64) -> Megram {
    let origin = MegramOrigin { at: ago(days), from: &number.to_string() };
    let tags = MegramTags::tool("curl", "api.example");
    Megram::new(state, tags, format!("it's number {number}\n\"é\""), origin)
}

fn kept(reader: &StoreReader, selection: &MegramSelection) -> Vec<Megram> {
    reader.memory().megrams(selection).unwrap()
}

#[test]
fn what_is_remembered_twice_is_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let rows = vec![megram(1, MegramState::Refine, 2), megram(2, MegramState::Accept, 1)];
    assert_eq!(store.memory().remember(rows.clone()).wait().unwrap(), 2);
    let more = [rows.clone(), vec![megram(3, MegramState::Abandon, 0)]].concat();
    // This ticket is not awaited.
    drop(store.memory().remember(more.clone()));
    assert_eq!(store.memory().remember(more.clone()).wait().unwrap(), 0);
    let reader = store.reader().unwrap();
    assert_eq!(kept(&reader, &MegramSelection::All), more);

    let ids = vec![more[0].id, more[1].id];
    for (at, expected) in [(NOW, NOW), (ago(9), NOW)] {
        store.memory().recall(ids.clone(), at).wait().unwrap();
        let recalled: Vec<_> =
            kept(&reader, &MegramSelection::All).iter().map(|megram| megram.recalled).collect();
        assert_eq!(recalled, [Some(expected), Some(expected), None]);
    }
    assert_eq!(store.memory().forget(ids.clone()).wait().unwrap(), 2);
    assert_eq!(store.memory().forget(ids).wait().unwrap(), 0);
    assert_eq!(kept(&reader, &MegramSelection::All), more[2..]);
}

#[test]
fn megrams_are_found_by_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let [one, mut two, mut three] = [1, 2, 3].map(|number| megram(number, MegramState::Accept, 0));
    two.tags.entity = "path:other".into();
    three.tags = MegramTags::intent("build");
    (three.level, three.k) = (MegramLevel::CommonSense, 0.0);
    let all = vec![one.clone(), two.clone(), three.clone()];
    store.memory().remember(all).wait().unwrap();
    let reader = store.reader().unwrap();
    let found = |selection: MegramSelection| {
        let mut ids: Vec<_> = kept(&reader, &selection).iter().map(|row| row.id).collect();
        ids.sort_unstable();
        ids
    };
    let mut both = vec![one.id, two.id];
    both.sort_unstable();
    assert_eq!(found(MegramSelection::Space("tool:curl".into())), both);
    assert_eq!(found(MegramSelection::Cluster(two.tags)), [two.id]);
    assert_eq!(found(MegramSelection::Level(MegramLevel::CommonSense)), [three.id]);
    assert_eq!(found(MegramSelection::Id(one.id.to_string())), [one.id]);
    assert_eq!(found(MegramSelection::Id(String::new())).len(), 3);
    assert_eq!(found(MegramSelection::Id("x".into())), []);
}

#[test]
fn a_dream_is_what_the_core_says() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut rows: Vec<Megram> = (0..7).map(|n| megram(n, MegramState::Abandon, 1)).collect();
    let mut rule = megram(8, MegramState::Success, 1);
    (rule.level, rule.k) = (MegramLevel::CommonSense, 0.0);
    let mut faded = megram(9, MegramState::Refine, 5);
    faded.tags = MegramTags::tool("wget", "api.example");
    rows.extend([rule.clone(), faded]);
    store.memory().remember(rows.clone()).wait().unwrap();
    let dreamt = store.memory().dream(NOW).wait().unwrap();
    assert_eq!(dreamt, dream(&rows, NOW));
    assert_eq!((dreamt.forget.len(), dreamt.demote.len(), dreamt.promote.len()), (1, 1, 1));
    let mut after = dreamt.apply_to(&rows);
    after.sort_by_key(|megram| (megram.created, megram.id));
    assert_eq!(kept(&store.reader().unwrap(), &MegramSelection::All), after);
    assert_eq!(store.memory().dream(NOW).wait().unwrap(), DreamChanges::default());
}

#[test]
fn memory_outlives_runs_and_comes_back_with_a_backup() {
    let dir = tempfile::tempdir().unwrap();
    let (state, file) = (dir.path().join(".wf"), dir.path().join("b.tar"));
    let store = open(&state);
    store.memory().remember(vec![megram(1, MegramState::Accept, 0)]).wait().unwrap();
    let run = first(&run_id(1), new_run("report"), vec![run_ended()]);
    store.append(run).wait().unwrap();
    let none = RunRetention { max_age: Some(Duration::ZERO), max_runs: Some(0), ..RunRetention::default() };
    assert_eq!(store.prune(none, ago(-1)).unwrap().runs, 1);
    store.rebuild().wait().unwrap();
    let all = kept(&store.reader().unwrap(), &MegramSelection::All);
    assert_eq!(all, [megram(1, MegramState::Accept, 0)]);
    drop(store);
    backup(&state, &file, false, NOW).unwrap();

    // No run would be lost, but the memory would be.
    let refused = restore(&file, &state, false, NOW, &|_, _, _| Ok(())).unwrap_err();
    assert_eq!(refused, StoreError::Exists(state.clone()));
    let store = open(&state);
    store.memory().forget(vec![all[0].id]).wait().unwrap();
    drop(store);
    restore(&file, &state, false, NOW, &|_, _, _| Ok(())).unwrap();
    assert_eq!(kept(&StoreReader::open(&state).unwrap(), &MegramSelection::All), all);
}

#[test]
fn a_word_that_nobody_wrote_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.memory().remember(vec![megram(1, MegramState::Accept, 0)]).wait().unwrap();
    let changed = "UPDATE megrams SET state = 'dreaming'";
    assert_eq!(stranger(dir.path()).execute(changed, []).unwrap(), 1);
    assert_eq!(kept(&store.reader().unwrap(), &MegramSelection::All), [megram(1, MegramState::Accept, 0)]);
}
