use super::super::StoreError;
use super::super::fixture::{first, name, new_run, open, run_id, stranger};
use crate::machine::Place;

#[test]
fn a_run_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, other) = (open(dir.path()), open(dir.path()));
    let run = run_id(1);
    mine.append(first(&run, new_run("report"), vec![]))
        .wait()
        .unwrap();
    let owner = || mine.reader().unwrap().owner(&run).unwrap();
    assert_eq!(owner(), None);

    let fence = mine.own_run(&run).wait().unwrap();
    let pid = std::process::id();
    let refused = StoreError::Owned {
        run: run.clone(),
        pid,
    };
    assert_eq!(other.own_run(&run).wait().unwrap_err(), refused);
    assert!(owner().is_some_and(|owner| owner.alive && owner.pid == pid));

    drop(fence);
    // The store does things in order, so the fence is down before this is answered.
    drop(mine.own_run(&run).wait().unwrap());
    let fence = mine.own_run(&run).wait().unwrap();
    drop(mine);
    drop(other.own_run(&run).wait().unwrap());
    drop(fence);
}

#[test]
fn the_dead_hold_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let (run, place) = (run_id(1), Place::of(&name("fetch")));
    store
        .append(first(&run, new_run("report"), vec![]))
        .wait()
        .unwrap();
    let fence = store.own_run(&run).wait().unwrap();
    assert!(store.try_lock("network", &run, &place).wait().unwrap());
    // As after a restart of the machine: the same number, another process.
    stranger(dir.path())
        .execute_batch("UPDATE owners SET start = start - 1; UPDATE locks SET boot = 'before'")
        .unwrap();
    assert!(!store.reader().unwrap().owner(&run).unwrap().unwrap().alive);
    let heir = open(dir.path());
    drop(heir.own_run(&run).wait().unwrap());
    assert!(heir.try_lock("network", &run_id(2), &place).wait().unwrap());
    drop(fence);
}

#[test]
fn a_lock_has_one_holder() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, other) = (open(dir.path()), open(dir.path()));
    let run = run_id(1);
    let [fetch, send] = ["fetch", "send"].map(|step| Place::of(&name(step)));
    let mine_is = |place| mine.try_lock("network", &run, place).wait().unwrap();
    let other_is = |place| other.try_lock("network", &run, place).wait().unwrap();
    assert!(mine_is(&fetch));
    assert!(mine_is(&fetch), "asked twice");
    assert!(!mine_is(&send));
    assert!(!other_is(&fetch));
    mine.unlock("network", &run, &send).wait().unwrap();
    assert!(!mine_is(&send), "not the holder's to give");
    mine.unlock("network", &run, &fetch).wait().unwrap();
    assert!(other_is(&send));
    other.release_run(&run).wait().unwrap();
    assert!(mine_is(&send));
    drop(mine);
    assert!(other_is(&send), "a closed store holds nothing");
}
