use std::{
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    EventBatch, RunFilter, RunRetention, Store, StoreError,
    tests::fixture::{NOW, first, new_run, next, open, run_ended, run_id, started, story},
    verify_chain,
};

const FOLDER: &str = "WF_TEST_FULL";

/// Limits can only be tested in a separate process: a write beyond them is a signal.
#[test]
#[expect(clippy::disallowed_methods, reason = "a process with limits is needed")]
fn nothing_is_half_forgotten_when_there_is_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "tests::log::full::child", "--ignored"])
        .env(FOLDER, dir.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
#[ignore = "the process with limits of the test above"]
fn child() {
    let Some(dir) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let store = open(&dir);
    for number in 1..=5 {
        let batch = first(&run_id(number), new_run("report"), story());
        store.append(batch).wait().unwrap();
        store.folder().create_run(&run_id(number)).unwrap();
    }
    let keep = RunRetention { max_runs: Some(1), ..RunRetention::default() };
    let log = dir.join("state.db-wal").metadata().unwrap().len();
    let usual = getrlimit(Resource::Fsize);
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current, ..usual }).unwrap();
    limit(Some(log));
    let refused = store.prune(keep, NOW).unwrap_err();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    let batch = first(&run_id(6), new_run("report"), vec![run_ended()]);
    assert!(store.append(batch.clone()).wait().is_err());
    assert!(store.blobs().put_file(&std::env::current_exe().unwrap()).is_err());
    whole(&store, &dir, 5);
    limit(usual.current);
    store.append(batch).wait().unwrap();
    whole(&store, &dir, 6);
    assert_eq!(store.prune(keep, NOW).unwrap().runs, 5);
    whole(&store, &dir, 1);
}

/// Checks that the state has so many runs, and no fault.
fn whole(store: &Store, dir: &Path, runs: usize) {
    let reader = store.reader().unwrap();
    assert_eq!(reader.runs().list(9, &RunFilter::default()).unwrap().len(), runs);
    assert!(verify_chain(&reader).unwrap().is_ok());
    assert_eq!(reader.find_damage(), Ok(None));
    let folders = std::fs::read_dir(dir.join("runs")).unwrap().count();
    assert_eq!(folders, runs.min(5).min(if runs == 1 { 0 } else { 5 }));
}

#[test]
fn nothing_is_written_behind_what_could_not_be() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    let after = |number, batch| EventBatch { after: Some(number), ..batch };
    let append = |batch| store.append(batch).wait();
    append(after(0, first(&run, new_run("report"), vec![]))).unwrap();
    append(after(0, next(&run, vec![started("fetch")]))).unwrap();
    // The batch that these two events follow never arrived.
    let refused = append(after(2, next(&run, vec![started("send")])));
    assert_eq!(refused.unwrap_err(), StoreError::Gap(run.clone()));
    append(after(1, next(&run, vec![started("send")]))).unwrap();
    assert_eq!(store.reader().unwrap().events().of_run(&run, 0).unwrap().len(), 2);
}
