mod shell;

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::sync::watch;

use super::{ProcessHooks, ProcessJob, ProcessOutcome};
use crate::{
    OnOutput,
    log::{self, LogStream},
    processes::process::ProcessCommand,
    secrets::secret::{Redactions, SecretText},
    work_error::StopLevel,
};
use wf_base::{name::Name, time::SystemClock};
use wf_core::machine::{Attempt, TaskId, WorkExit};
use wf_model::FailureClass;

pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(super) fn job(dir: &Path, script: &str) -> ProcessJob {
    let output = dir.join("output");
    let env = [("PATH", PATH.to_owned()), ("WF_OUTPUT", output.display().to_string())];
    ProcessJob {
        command: ProcessCommand {
            argv: ["sh", "-eu", "-c", script].map(String::from).into(),
            env: env.map(|(name, value)| (name.to_owned(), value)).into(),
            cwd: dir.to_path_buf(),
            sandbox: None,
            pins: None,
            input: None,
        },
        timeout: None,
        grace: Duration::from_millis(300),
        log: dir.join("a.1.log"),
        most: None,
        limit: 1024 * 1024,
        output,
        cleanup: None,
        redactions: Redactions::default(),
        detach: false,
    }
}

/// Runs a job without further ties.
pub(super) async fn run(
    job: ProcessJob,
    stop: watch::Receiver<StopLevel>,
    on_output: Option<OnOutput>,
) -> ProcessOutcome {
    let ties = ProcessHooks {
        mark: job.command.cwd.display().to_string(),
        mask: job.mask(),
        clock: Arc::new(SystemClock),
        stop,
        on_output,
        on_start: None,
    };
    super::run(job, ties).await
}

/// A receiver without a stop request.
pub(super) fn never() -> watch::Receiver<StopLevel> {
    watch::channel(StopLevel::No).1
}

pub(super) fn logged(dir: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(dir.join("a.1.log")).unwrap_or_default()).into_owned()
}

async fn check(script: &str, exit: WorkExit, log: &str) -> ProcessOutcome {
    let dir = tempfile::tempdir().unwrap();
    let finished = run(job(dir.path(), script), never(), None).await;
    assert_eq!(finished.exit, exit, "{script}");
    assert_eq!(logged(dir.path()), log, "{script}");
    finished
}

#[tokio::test]
async fn processes_end_as_they_end() {
    check("true", WorkExit::Code { code: 0 }, "").await;
    check("echo out; echo err >&2; exit 3", WorkExit::Code { code: 3 }, "out\nerr\n").await;
    check("kill -9 $$", WorkExit::Signal { signal: 9 }, "").await;
    check("printf 'no end'", WorkExit::Code { code: 0 }, "no end").await;
    check("cat", WorkExit::Code { code: 0 }, "").await;
    check("printf '\\377\\376'", WorkExit::Code { code: 0 }, "\u{fffd}\u{fffd}").await;
}

#[tokio::test]
async fn a_value_that_becomes_known_is_masked_from_then_on() {
    let script = "printf 'mask=abc\\nmask=tr0ub4dor\\n' > $WF_OUTPUT; echo tr0ub4dor; printf tr0ub4dor | base64; \
                  printf 'a=1\\nmask<<E\\nc0rrect horse\\nE\\n' >> $WF_OUTPUT; echo c0rrect horse, tr0ub4dor; \
                  printf mask=l4st-one >> $WF_OUTPUT";
    let log = "… a value after `mask=` is too short or too common, and stays visible …\n***\n***\n***, ***\n";
    let finished = check(script, WorkExit::Code { code: 0 }, log).await;
    assert_eq!(finished.output.trim(), "a=1");
    let told = "echo mask=tr0ub4dor > $WF_OUTPUT; echo a=tr0ub4dor >> $WF_OUTPUT";
    let dir = tempfile::tempdir().unwrap();
    let finished = run(job(dir.path(), told), never(), None).await;
    assert!(finished.exit.to_string().contains("contains a secret"), "{}", finished.exit);
}

#[tokio::test]
async fn a_silent_attempt_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    run(job(dir.path(), "true"), never(), None).await;
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(dir.path(), "");
    job.command.argv = vec!["env".into()];
    job.command.cwd.push(".");
    let expected = format!(
        "PATH={PATH}\nPWD={0}\nWF_OUTPUT={1}\nWF_TREE={0}/.\n",
        dir.path().display(),
        job.output.display()
    );
    run(job, never(), None).await;
    assert_eq!(logged(dir.path()), expected);
}

async fn unable(change: impl FnOnce(&mut ProcessJob), reason: &str, failure_class: FailureClass) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plain"), "").unwrap();
    std::fs::write(dir.path().join("orphan"), "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir.path().join("orphan"), mode).unwrap();
    let mut job = job(dir.path(), "true");
    change(&mut job);
    match run(job, never(), None).await.exit {
        WorkExit::Error { reason: found, failure_class: whose } => {
            assert!(found.contains(reason), "{found} lacks {reason}");
            assert_eq!(whose, failure_class, "{found}");
        }
        other => panic!("{other:?}, not {reason}"),
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    use FailureClass::{Environmental, Logical};
    let argv = |words: &'static [&str]| {
        move |job: &mut ProcessJob| job.command.argv = words.iter().map(|word| (*word).into()).collect()
    };
    unable(argv(&["no_such_program"]), "program `no_such_program` is not in PATH", Environmental).await;
    unable(argv(&["./none"]), "program `", Environmental).await;
    unable(argv(&["./plain"]), "is not executable", Environmental).await;
    unable(argv(&["./orphan"]), "the interpreter of", Environmental).await;
    unable(argv(&["/usr"]), "is a folder", Logical).await;
    unable(argv(&[]), "no program to execute", Logical).await;
    unable(argv(&[""]), "is empty", Logical).await;
    unable(argv(&["sh", "a\0b"]), "a NUL character", Logical).await;
    unable(|job| job.command.cwd.push("gone"), "gone` does not exist", Environmental).await;
    let huge = |job: &mut ProcessJob| job.command.env.push(("HUGE".into(), "x".repeat(4_000_000)));
    unable(huge, "are too long (4000", Environmental).await;
}

#[tokio::test]
async fn a_busy_file_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("busy");
    std::fs::copy("/bin/true", &file).unwrap();
    let open = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    let mut job = job(dir.path(), "");
    job.command.argv = vec!["./busy".into()];
    let exit = run(job, never(), None).await.exit;
    assert!(exit.to_string().contains("is being written"), "{exit}");
    drop(open);
}

async fn give(script: &str) -> ProcessOutcome {
    let dir = tempfile::tempdir().unwrap();
    let finished = run(job(dir.path(), script), never(), None).await;
    assert!(!dir.path().join("output").is_file());
    finished
}

#[tokio::test]
async fn outputs_are_read() {
    let given = give("echo rows=3 > \"$WF_OUTPUT\"").await;
    assert_eq!(given.exit, WorkExit::Code { code: 0 });
    assert_eq!(given.output, "rows=3\n");
    for (script, part) in [
        ("printf 'rows=\\377' > \"$WF_OUTPUT\"", "not UTF-8"),
        ("head -c 2000000 /dev/zero > \"$WF_OUTPUT\"", "larger than 1024 KiB"),
        ("mkdir \"$WF_OUTPUT\"", "not a regular file"),
        ("mkfifo \"$WF_OUTPUT\"", "not a regular file"),
    ] {
        let given = give(script).await;
        assert!(given.exit.to_string().contains(part), "{script}: {}", given.exit);
        assert_eq!(given.output, "");
    }
    let failed = give("echo rows=3 > \"$WF_OUTPUT\"; exit 1").await;
    assert_eq!((failed.exit, failed.output.as_str()), (WorkExit::Code { code: 1 }, ""));
}

#[tokio::test]
async fn an_earlier_output_file_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("output"), "rows=1").unwrap();
    let gone = run(job(dir.path(), "true"), never(), None).await;
    assert_eq!((gone.exit, gone.output.as_str()), (WorkExit::Code { code: 0 }, ""));
}

#[tokio::test]
async fn a_flood_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last";
    let finished = run(job(dir.path(), script), never(), None).await;
    assert_eq!(finished.exit, WorkExit::Code { code: 0 });
    let log = logged(dir.path());
    assert_eq!(log.len() as u64, finished.logged);
    assert!(log.len() < 1024 * 1024 + 100, "{}", log.len());
    assert!(log.len() > 700 * 1024, "{}", log.len());
    assert!(log.starts_with("first\nxxx") && log.ends_with("xxx\nlast\n"));
    let kept = log.len() - log.lines().find(|line| line.contains("omitted")).unwrap().len() - 2;
    let note = format!("\n… {} bytes omitted …\n", 100_000_012 - kept);
    assert!(log.contains(&note), "{note}");
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 2, "only the log and its index are left");
    let attempt = Attempt { task_id: TaskId { step: Name::parse("a").unwrap(), item: None }, attempt: 1 };
    let logs = log::RunLogs::new(dir.path().to_path_buf());
    let read: usize = logs.read_chunks(&attempt).unwrap().map(|c| c.unwrap().bytes.len()).sum();
    assert_eq!(read, log.len());
}

#[tokio::test]
async fn observers_see_whole_lines_of_each_stream() {
    let dir = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let show = {
        let seen = Arc::clone(&seen);
        Box::new(move |stream, bytes: &[u8]| {
            seen.lock().unwrap().push((stream, String::from_utf8_lossy(bytes).into_owned()));
        })
    };
    let script = "printf 'a '; echo err >&2; sleep 0.05; echo b; printf question; sleep 0.4; printf ' end'";
    run(job(dir.path(), script), never(), Some(show)).await;
    let lines = |wanted: LogStream| {
        let seen = seen.lock().unwrap();
        let of = |(stream, text): &(LogStream, String)| (*stream == wanted).then(|| text.clone());
        seen.iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(lines(LogStream::Err), ["err\n"]);
    assert_eq!(lines(LogStream::Out), ["a b\n", "question", " end"]);
}

#[tokio::test]
async fn a_log_that_cannot_be_kept_fails_the_attempt() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(dir.path(), "echo hi");
    job.log = dir.path().join("none/a.log");
    let exit = run(job, never(), None).await.exit;
    assert!(exit.to_string().contains("cannot write the log to"), "{exit}");
    assert_eq!(exit.failure_class(), Some(FailureClass::Engine));
}

#[test]
fn an_attempt_may_move_between_threads() {
    fn sends<T: Send>(_: &T) {}
    let dir = tempfile::tempdir().unwrap();
    sends(&run(job(dir.path(), "true"), never(), None));
}

#[tokio::test]
async fn secrets_reach_neither_the_disk_nor_the_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let show = {
        let seen = Arc::clone(&seen);
        Box::new(move |_: LogStream, bytes: &[u8]| seen.lock().unwrap().extend_from_slice(bytes))
    };
    let script = "echo rows=tr0ub4dor > \"$WF_OUTPUT\"; printf 'a tr0u'; sleep 0.3; echo b4dor b; printf tr0";
    let mut job = job(dir.path(), script);
    job.redactions.secrets = vec![SecretText::from("tr0ub4dor")];
    let finished = run(job, never(), Some(show)).await;
    assert_eq!(logged(dir.path()), "a *** b\ntr0");
    assert_eq!(seen.lock().unwrap().as_slice(), b"a *** b\ntr0");
    let reason = finished.exit.to_string();
    assert!(reason.contains("contains a secret") && !reason.contains("tr0ub4dor"), "{reason}");
    assert_eq!(finished.output, "");
}
