use std::{sync::Arc, time::Duration};

use crate::{
    FencingToken, LockAcquisition, RunFence, Store, StoreDurability, StoreError,
    tests::fixture::{
        NOW, commits, first, lock, name, new_run, next, open, run_ended, run_id, started, stranger,
    },
};
use wf_base::{name::RunId, time::FixedClock};
use wf_core::{
    machine::{LockHolder, LockKey, TaskId, TaskLocks},
    ticket_queue::LockObstacle,
};

/// A store that owns a run, which is recorded.
fn owner(dir: &std::path::Path, run: &RunId) -> (Store, RunFence) {
    let store = open(dir);
    let fence = store.own_run(run, "kept").wait().unwrap();
    let mut batch = first(run, new_run("report"), vec![started("fetch")]);
    batch.token = fence.token();
    store.append(batch).wait().unwrap();
    (store, fence)
}

fn write(store: &Store, token: FencingToken) -> Result<u64, StoreError> {
    let mut batch = next(&token.run, vec![started("send")]);
    batch.token = token;
    store.append(batch).wait().map(|appended| appended.last)
}

#[test]
fn a_run_has_one_owner() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_id(1);
    let (mine, fence) = owner(dir.path(), &run);
    let other = open(dir.path());
    let shown = || mine.reader().unwrap().leases().owner(&run).unwrap();
    let pid = std::process::id();
    assert!(shown().is_some_and(|owner| owner.alive && owner.pid == pid));
    let refused = other.own_run(&run, "").wait().unwrap_err().to_string();
    let expected = format!("held by process {pid} since 2027-01-15T08:00:00.000Z; lease");
    assert!(refused.contains(&expected), "{refused}");

    drop(fence);
    // The store does things in order, so the fence is released before this is answered.
    drop(mine.own_run(&run, "").wait().unwrap());
    let fence = mine.own_run(&run, "").wait().unwrap();
    assert_eq!(fence.token().number, 3);
    drop(mine);
    drop(other.own_run(&run, "").wait().unwrap());
    drop(fence);
}

#[test]
fn a_new_run_is_taken_with_what_records_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    let before = commits(dir.path());
    let (token, owned) = store.own_new_run(&run, "kept");
    let mut batch = first(&run, new_run("report"), vec![started("fetch")]);
    batch.token = token.clone();
    assert_eq!(store.append(batch).wait().unwrap().last, 1);
    assert_eq!(commits(dir.path()), before + 1);
    assert_eq!(owned.wait().unwrap().token(), token);
    // If no batch follows, the run is taken all the same.
    let (_, owned) = store.own_new_run(&run_id(2), "kept");
    let fence = owned.wait().unwrap();
    let other = open(dir.path());
    assert!(other.own_run(&run_id(2), "").wait().is_err());
    drop(fence);
}

#[test]
fn a_run_is_given_back_with_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_id(1);
    let (mine, fence) = owner(dir.path(), &run);
    let end = |of: &RunId, new| {
        let mut batch = match new {
            Some(new) => first(of, new, vec![run_ended()]),
            None => next(of, vec![run_ended()]),
        };
        batch.token = fence.token();
        mine.append(batch).wait().unwrap();
    };
    let nested = crate::NewRun { parent: Some((run.clone(), "a#1".into())), ..new_run("part") };
    let other = open(dir.path());
    end(&run_id(2), Some(nested));
    assert!(other.own_run(&run, "").wait().is_err(), "not of this run");
    end(&run, None);
    let heir = other.own_run(&run, "").wait().unwrap();
    let lost = write(&mine, fence.token()).unwrap_err();
    assert!(matches!(lost, StoreError::Fenced { .. }), "{lost}");
    drop((fence, mine));
    assert_eq!(write(&other, heir.token()), Ok(3), "it is another's now");
}

#[test]
fn the_end_of_a_run_is_all_that_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (store, fence) = owner(dir.path(), &run_id(1));
    // As long as another connection is open, the write-ahead log stays.
    let _other = stranger(dir.path());
    let before = commits(dir.path());
    let mut batch = next(&run_id(1), vec![run_ended()]);
    batch.token = fence.token();
    store.append(batch).wait().unwrap();
    assert_eq!(commits(dir.path()), before + 1);
    drop((fence, store));
    assert_eq!(commits(dir.path()), before + 1);
}

#[test]
fn who_lost_a_run_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_id(1);
    let (slow, mut fence) = owner(dir.path(), &run);
    assert_eq!(write(&slow, fence.token()), Ok(2));
    let heir = open(dir.path());
    assert!(heir.own_run(&run, "").wait().is_err());
    // As if it had been stopped for long.
    stranger(dir.path()).execute_batch("UPDATE run_leases SET expires = 0").unwrap();
    let other = heir.own_run(&run, "").wait().unwrap();
    let lost = StoreError::Fenced { run: run.clone(), by: Some(std::process::id()) };
    assert_eq!(write(&slow, fence.token()), Err(lost.clone()));
    let unowned = FencingToken { number: 0, ..fence.token() };
    assert_eq!(write(&slow, unowned), Err(lost));
    assert_eq!(write(&heir, other.token()), Ok(3));

    let owners = heir.reader().unwrap().leases().of_run(&run).unwrap();
    let told: Vec<_> =
        owners.iter().map(|lease| (lease.token, lease.supervisor.as_str(), lease.first_event)).collect();
    assert_eq!(told, [(1, "kept", 0), (2, "", 2)]);
    assert!(owners.iter().all(|lease| lease.acquired_at == NOW && lease.is_local));

    let token = other.token();
    drop(other);
    let given_back = StoreError::Fenced { run, by: None };
    assert_eq!(write(&heir, token), Err(given_back));
    drop(slow);
    let nobody = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let waited = async {
        tokio::select! { _ = fence.lost() => true, () = async {} => false }
    };
    assert!(!nobody.block_on(waited), "the writer is gone");
}

#[test]
fn a_lease_lasts_while_its_writer_works_and_its_loss_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_id(1);
    let clock = Arc::new(FixedClock(NOW));
    let lease = Duration::from_millis(150);
    let store = Store::open_with_lease(dir.path(), StoreDurability::Normal, clock, lease).unwrap();
    let mut fence = store.own_run(&run, "").wait().unwrap();
    let ends = || {
        let sql = "SELECT max(expires) FROM run_leases";
        stranger(dir.path()).query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let first = ends();
    while ends() < first + 150 {
        std::thread::yield_now();
    }
    let steal = "INSERT INTO run_leases SELECT run, token + 1, 7, start_ticks, boot_id, pid_ns, store, supervisor, \
                 first_event, acquired_at, expires, NULL FROM run_leases";
    stranger(dir.path()).execute_batch(steal).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let lost = runtime.block_on(fence.lost());
    assert_eq!(lost, StoreError::Fenced { run, by: Some(7) });
}

#[test]
fn the_dead_hold_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (run, place) = (run_id(1), TaskId::of_step(&name("fetch")));
    let (store, fence) = owner(dir.path(), &run);
    let asked =
        |store: &Store, run: u8| store.try_lock(&lock("network"), &run_id(run), &place).wait().unwrap();
    assert_eq!(asked(&store, 1), LockAcquisition::Acquired);
    // As after a reboot: the same id, another process.
    stranger(dir.path())
        .execute_batch(
            "UPDATE run_leases SET start_ticks = start_ticks - 1; UPDATE locks SET boot_id = 'before'",
        )
        .unwrap();
    assert!(!store.reader().unwrap().leases().owner(&run).unwrap().unwrap().alive);
    let heir = open(dir.path());
    drop(heir.own_run(&run, "").wait().unwrap());
    let holder =
        LockHolder { key: LockKey::Name("network".into()), run, place: "fetch".into(), waits: false };
    let dead = LockAcquisition::TakenOver(vec![holder]);
    assert_eq!(asked(&heir, 2), dead);
    drop(fence);
}

#[test]
fn who_cannot_be_seen_holds_while_the_lease_lasts() {
    let dir = tempfile::tempdir().unwrap();
    let (run, place) = (run_id(1), TaskId::of_step(&name("fetch")));
    let (store, _fence) = owner(dir.path(), &run);
    let nested = crate::NewRun { parent: Some((run.clone(), "a#1".into())), ..new_run("part") };
    store.append(first(&run_id(2), nested, vec![])).wait().unwrap();
    assert_eq!(
        store.try_lock(&lock("network"), &run_id(2), &place).wait().unwrap(),
        LockAcquisition::Acquired
    );
    let alter = |sql| stranger(dir.path()).execute_batch(sql).unwrap();
    alter("UPDATE run_leases SET pid_ns = pid_ns + 1; UPDATE locks SET pid_ns = pid_ns + 1");
    let heir = open(dir.path());
    let refused = heir.own_run(&run, "").wait().unwrap_err();
    assert!(refused.to_string().contains("in another container since"), "{refused}");
    let asked = || heir.try_lock(&lock("network"), &run_id(3), &place).wait().unwrap();
    assert!(matches!(asked(), LockAcquisition::Held(found) if found.holder.run == run_id(2)));
    alter("UPDATE run_leases SET expires = 0");
    assert!(matches!(asked(), LockAcquisition::TakenOver(dead) if dead[0].run == run_id(2)));
    assert!(heir.own_run(&run, "").wait().is_ok());
}

#[test]
fn a_lock_has_one_holder() {
    let dir = tempfile::tempdir().unwrap();
    let (mine, other) = (open(dir.path()), open(dir.path()));
    let run = run_id(1);
    let [fetch, send] = ["fetch", "send"].map(|step| TaskId::of_step(&name(step)));
    let has = |store: &Store, place| {
        store.try_lock(&lock("network"), &run, place).wait().unwrap() == LockAcquisition::Acquired
    };
    assert!(has(&mine, &fetch));
    assert!(has(&mine, &fetch), "asked twice");
    assert!(!has(&mine, &send));
    assert!(!has(&other, &fetch));
    mine.unlock(&run, &send).wait().unwrap();
    other.unlock(&run, &fetch).wait().unwrap();
    assert!(!has(&mine, &send), "not the holder's to give");
    mine.unlock(&run, &fetch).wait().unwrap();
    assert!(has(&other, &send));
    other.release_run(&run).wait().unwrap();
    assert!(has(&mine, &send));
    drop(mine);
    assert!(has(&other, &send), "a closed store holds nothing");
}

#[test]
fn files_are_held_all_or_none_by_one_run() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let [one, two] = [run_id(1), run_id(2)];
    let [fetch, send] = ["fetch", "send"].map(|step| TaskId::of_step(&name(step)));
    let files = |paths: &[&str]| TaskLocks {
        files: paths.iter().map(|&path| path.into()).collect(),
        ..TaskLocks::default()
    };
    let ask = |run, place, paths: &[&str]| store.try_lock(&files(paths), run, place).wait().unwrap();
    assert_eq!(ask(&one, &fetch, &["lib", "out/a"]), LockAcquisition::Acquired);
    let flushed = commits(dir.path());
    for paths in [["a", "out"], ["a", "lib"], ["a", "lib/x/y"], ["a", "out/a"]] {
        let LockAcquisition::Held(LockObstacle { holder, .. }) = ask(&two, &fetch, &paths) else {
            panic!("{paths:?} are not free");
        };
        assert!(holder.run == one && holder.place == "fetch", "{holder:?}");
    }
    assert_eq!(ask(&one, &send, &["lib/x"]), LockAcquisition::Acquired, "the machine of the run decides");
    assert_eq!(ask(&one, &send, &["a"]), LockAcquisition::Acquired, "who waits holds nothing");
    store.unlock(&one, &send).wait().unwrap();
    for free in ["out/a.old", "out/b", "library", "o"] {
        assert_eq!(ask(&two, &send, &[free]), LockAcquisition::Acquired, "{free}");
    }
    let waits = store.reader().unwrap().leases().lock_waits().unwrap();
    let shown: Vec<_> =
        waits.iter().map(|wait| (wait.run.clone(), wait.place.as_str(), wait.obstacle.clone())).collect();
    let key = LockKey::File("out/a".into());
    let holder = LockHolder { key: key.clone(), run: one.clone(), place: "fetch".into(), waits: false };
    assert_eq!(
        shown,
        [(two.clone(), "fetch", Some(LockObstacle { key, holder, outermost: one.clone(), ahead: 0 }))]
    );
    store.unlock(&one, &fetch).wait().unwrap();
    assert_eq!(ask(&two, &fetch, &["lib/x", "out"]), LockAcquisition::Acquired);
    assert_eq!(store.reader().unwrap().leases().lock_waits().unwrap(), []);
    assert!(commits(dir.path()) > flushed);
}
