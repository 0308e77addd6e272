use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use crate::{
    LockAcquisition, Store, StoreDurability, StoreReader,
    tests::fixture::{NOW, first, lock, name, new_run, next, open, run_id, started},
    verify_chain,
};
use wf_base::time::FixedClock;
use wf_core::machine::TaskId;

/// Names the state folder to a child, and the number of its run.
const FOLDER: &str = "WF_TEST_STORE";
const NUMBER: &str = "WF_TEST_NUMBER";

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let children = [1, 2].map(|number| spawn(dir.path(), number));
    let acknowledged = children.map(kill_after_a_while);

    let store = open(dir.path());
    let reader = store.reader().unwrap();
    let mut events = 0;
    for (run, acknowledged) in [run_id(1), run_id(2)].iter().zip(acknowledged) {
        let kept = reader.events().of_run(run, 0).unwrap().len();
        assert!(kept >= acknowledged, "{kept} of {acknowledged}");
        events += kept as u64 + 1;
        assert!(!reader.leases().owner(run).unwrap().unwrap().alive);
        let fence = store.own_run(run, "").wait().unwrap();
        let mut batch = next(run, vec![started("send")]);
        batch.token = fence.token();
        store.append(batch).wait().unwrap();
        events += 1;
    }
    assert_eq!(verify_chain(&reader).unwrap(), Ok(events));
    let place = TaskId::of_step(&name("fetch"));
    let taken = store.try_lock(&lock("network"), &run_id(3), &place).wait();
    assert!(matches!(taken, Ok(LockAcquisition::TakenOver { .. })), "{taken:?}");
}

#[expect(clippy::disallowed_methods, reason = "a process must die, and it must not be this one")]
fn spawn(dir: &Path, number: u8) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::log::kill::child", "--ignored", "--nocapture"])
        .env(FOLDER, dir)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the acknowledgements of a child; returns the last number before it died.
fn kill_after_a_while(mut child: Child) -> usize {
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let number = |line: &str| line.trim().strip_prefix("kept ")?.parse::<usize>().ok();
    let mut last = 0;
    while last < 100 {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the child died by itself");
        last = number(&line).unwrap_or(last);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    // A line without an end may lack digits; it can only claim less.
    rest.lines().filter_map(number).next_back().unwrap_or(last)
}

#[test]
#[ignore = "the process that is killed by the test above"]
fn child() {
    let (Some(dir), Some(number)) = (std::env::var_os(FOLDER), std::env::var_os(NUMBER)) else {
        return;
    };
    let run = run_id(number.to_str().unwrap().parse().unwrap());
    let clock = Arc::new(FixedClock(NOW));
    let store = Store::open(&PathBuf::from(dir), StoreDurability::Full, clock).unwrap();
    let fence = store.own_run(&run, "").wait().unwrap();
    let mut batch = first(&run, new_run("report"), vec![]);
    batch.token = fence.token();
    store.append(batch).wait().unwrap();
    let _ = store.try_lock(&lock("network"), &run, &TaskId::of_step(&name("fetch"))).wait().unwrap();
    loop {
        let mut batch = next(&run, vec![started("fetch")]);
        batch.token = fence.token();
        let appended = store.append(batch).wait().unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "kept {}", appended.last).unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_dropped_store_has_written_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    drop(store.append(first(&run, new_run("report"), vec![])));
    for _ in 0..100 {
        drop(store.append(next(&run, vec![started("fetch")])));
    }
    drop(store);
    let reader = StoreReader::open(dir.path()).unwrap();
    assert_eq!(reader.events().of_run(&run, 0).unwrap().len(), 100);
}

#[test]
fn tickets_work_inside_a_runtime() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let run = run_id(1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let last = runtime.block_on(async {
        store.append(first(&run, new_run("report"), vec![])).await.unwrap();
        store.append(next(&run, vec![started("fetch")])).await.unwrap();
        store.append(next(&run, vec![started("send")])).await.unwrap().last
    });
    assert_eq!(last, 2);
}
