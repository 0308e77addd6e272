use std::{path::Path, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{
    super::{
        process::{ChildProcess, ProcessCommand, spawn},
        tails::OutputHead,
    },
    ProcessLimits, supervise,
};
use crate::{sandbox::PreparedSandbox, work_error::StopLevel};
use wf_core::machine::WorkExit;

fn start(dir: &Path, script: &str) -> ChildProcess {
    let command = ProcessCommand {
        argv: ["sh", "-c", script].map(String::from).into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: dir.to_path_buf(),
        sandbox: None,
        pins: None,
        input: None,
    };
    spawn(&command, &format!("test-{}", dir.display()), PreparedSandbox::default()).unwrap()
}

fn after(timeout: u64) -> ProcessLimits {
    ProcessLimits { timeout: Some(Duration::from_millis(timeout)), ..PATIENT }
}

fn grace(duration_ms: u64) -> ProcessLimits {
    ProcessLimits { grace: Duration::from_millis(duration_ms), output: None, ..PATIENT }
}

struct Ended {
    exit: WorkExit,
    out: String,
    took: Duration,
}

/// An upper bound for waits in tests, well below the minute of grace even on a busy machine.
const SOON: Duration = Duration::from_secs(10);
const PATIENT: ProcessLimits =
    ProcessLimits { timeout: None, grace: Duration::from_mins(1), output: None, leaves_none: false };

/// Runs a script and sends it the stop requests of `tell`, 150 ms apart.
async fn end(dir: &Path, script: &str, limits: ProcessLimits, tell: &[StopLevel]) -> Ended {
    let process = start(dir, script);
    let (told, stop) = watch::channel(StopLevel::No);
    let mut head = OutputHead::new(100_000);
    let began = Instant::now();
    let (end, ()) = tokio::join!(supervise(process, limits, stop, &mut head), async {
        for word in tell {
            tokio::time::sleep(Duration::from_millis(150)).await;
            told.send_replace(*word);
        }
    });
    Ended { exit: end.exit, out: String::from_utf8(head.out).unwrap(), took: began.elapsed() }
}

/// True if the process whose id a script wrote to a file lives; zombies do not.
fn lives(dir: &Path, file: &str) -> bool {
    let id = std::fs::read_to_string(dir.join(file)).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

/// Cleans up.
fn kill(dir: &Path, file: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    let id = std::fs::read_to_string(dir.join(file)).unwrap();
    let id = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    kill_process(id, Signal::KILL).unwrap();
}

async fn gone(dir: &Path, file: &str) -> bool {
    for _ in 0..50 {
        if !lives(dir, file) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

const FAMILY: &str = "sh -c 'sleep 30 & echo $! > grandchild; wait' & echo $! > child; wait";

#[tokio::test]
async fn cancelling_ends_the_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let ended = end(dir.path(), FAMILY, PATIENT, &[StopLevel::Gently]).await;
    assert_eq!(ended.exit, WorkExit::Cancelled);
    assert!(ended.took < SOON, "{:?}", ended.took);
    assert!(gone(dir.path(), "child").await && gone(dir.path(), "grandchild").await);
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group() {
    let dir = tempfile::tempdir().unwrap();
    let ended = end(dir.path(), FAMILY, after(150), &[]).await;
    assert_eq!(ended.exit, WorkExit::TimedOut);
    assert!(gone(dir.path(), "child").await && gone(dir.path(), "grandchild").await);
}

#[tokio::test]
async fn who_ends_in_time_may_clean_up() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done";
    let ended = end(dir.path(), script, after(100), &[]).await;
    assert_eq!((ended.exit, ended.out.as_str()), (WorkExit::TimedOut, "bye\n"));
}

#[tokio::test]
async fn who_does_not_listen_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let deaf = "trap '' TERM; echo $$ > self; while :; do sleep 0.01; done";
    for (limits, tell, least) in [
        (grace(300), &[StopLevel::Gently][..], 450),
        (PATIENT, &[StopLevel::Gently, StopLevel::AtOnce][..], 300),
        (PATIENT, &[StopLevel::AtOnce][..], 150),
    ] {
        let ended = end(dir.path(), deaf, limits, tell).await;
        assert_eq!(ended.exit, WorkExit::Cancelled);
        assert!(ended.took >= Duration::from_millis(least), "{:?}", ended.took);
        assert!(ended.took < SOON, "{:?}", ended.took);
        assert!(gone(dir.path(), "self").await);
    }
}

#[tokio::test]
async fn a_deaf_child_of_a_listening_parent_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let script =
        "(trap '' TERM; exec >/dev/null 2>&1; sh -c 'echo $PPID > child'; while :; do sleep 0.01; done) &
        trap 'exit 0' TERM; while :; do sleep 0.01; done";
    let ended = end(dir.path(), script, grace(300), &[StopLevel::Gently]).await;
    assert_eq!(ended.exit, WorkExit::Cancelled);
    assert!(ended.took >= Duration::from_millis(450), "{:?}", ended.took);
    assert!(gone(dir.path(), "child").await);
}

#[tokio::test]
async fn who_is_left_with_the_pipe_does_not_hold_us_up() {
    let dir = tempfile::tempdir().unwrap();
    let ended = end(dir.path(), "sleep 30 & echo $! > child; echo done", PATIENT, &[]).await;
    assert_eq!((ended.exit, ended.out.as_str()), (WorkExit::Code { code: 0 }, "done\n"));
    assert!(ended.took < SOON, "{:?}", ended.took);
    assert!(gone(dir.path(), "child").await);
}

#[tokio::test]
async fn who_left_the_group_with_the_pipe_does_not_hold_us_up() {
    let dir = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > child; exec sleep 30' & sleep 0.1; echo done";
    let ended = end(dir.path(), script, PATIENT, &[]).await;
    assert_eq!((ended.exit, ended.out.as_str()), (WorkExit::Code { code: 0 }, "done\n"));
    assert!(ended.took < SOON, "{:?}", ended.took);
    assert!(gone(dir.path(), "child").await);
}

#[tokio::test]
async fn a_server_without_our_pipes_may_stay() {
    let dir = tempfile::tempdir().unwrap();
    let script = "sleep 5 >/dev/null 2>&1 & echo $! > child";
    let ended = end(dir.path(), script, PATIENT, &[]).await;
    assert_eq!(ended.exit, WorkExit::Code { code: 0 });
    assert!(lives(dir.path(), "child"));
    kill(dir.path(), "child");
}

#[tokio::test]
async fn cancelling_and_timeouts_reach_daemons() {
    let script = "setsid sh -c 'echo $$ > child; exec sleep 30' >/dev/null 2>&1 & sleep 30";
    for (limits, tell) in [(after(300), &[][..]), (PATIENT, &[StopLevel::Gently])] {
        let dir = tempfile::tempdir().unwrap();
        end(dir.path(), script, limits, tell).await;
        assert!(gone(dir.path(), "child").await);
    }
}

#[tokio::test]
async fn a_dropped_attempt_takes_its_group_along() {
    let dir = tempfile::tempdir().unwrap();
    let run = end(dir.path(), FAMILY, PATIENT, &[]);
    let cut = tokio::time::timeout(Duration::from_millis(200), run).await;
    assert!(cut.is_err());
    assert!(gone(dir.path(), "child").await && gone(dir.path(), "grandchild").await);
}

#[tokio::test]
async fn endless_timeouts_are_no_overflow() {
    let dir = tempfile::tempdir().unwrap();
    let ended = end(dir.path(), "true", after(u64::MAX), &[]).await;
    assert_eq!(ended.exit, WorkExit::Code { code: 0 });
}
