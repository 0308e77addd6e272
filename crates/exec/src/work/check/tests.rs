use std::{path::Path, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::sync::watch;

use super::{super::executor::ProcessExecutor, CheckEnvironment, RenderedCheck};
use crate::{HostEnv, work_error::StopLevel};
use wf_base::{name::Name, redact::SecretMask, time::SystemClock};
use wf_core::machine::{CheckRuling, CheckVerdict};
use wf_model::{
    Check, CheckProbe, Expectation, FailureClass, LeastTests, ShellScript, TestExpectation,
    expr::{ExprReference, ExprScope, StatusFunction, Template},
};

struct Nothing;

impl ExprScope for Nothing {
    fn value(&self, _: &ExprReference) -> Option<Value> {
        None
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

fn probe(text: &str) -> CheckProbe {
    CheckProbe::Run(ShellScript { shell: ["sh", "-eu", "-c"].map(String::from).into(), text: text.into() })
}

async fn rule(root: &Path, probe: Option<CheckProbe>, expect: Expectation) -> CheckVerdict {
    // Only what sleeps is to run out of time: a busy machine is slow.
    let sleeps = matches!(&probe, Some(CheckProbe::Run(script)) if script.text.starts_with("sleep"));
    let timeout = if sleeps { Duration::from_millis(300) } else { Duration::from_mins(1) };
    let check = Check { probe, expect, timeout, ..Check::new(Name::parse("it").unwrap()) };
    let host = ["PATH", "HOME", "TOKEN"].map(|name| {
        let value = if name == "PATH" { "/usr/bin:/bin" } else { "host" };
        (name.to_owned(), value.to_owned())
    });
    let ground = CheckEnvironment {
        executor: ProcessExecutor::InProcess,
        root: root.to_path_buf(),
        host: Arc::new(HostEnv::from(host)),
        mask: SecretMask::new(["hunter22"]),
        clock: Arc::new(SystemClock),
        grace: Duration::from_millis(100),
        params: wf_model::JsonObject::new(),
        sandboxes: None,
        pinned_files: None,
        whiteouts: Vec::new(),
        copies: Vec::new(),
        reports: root.join(".wf/reports"),
        prior: Arc::default(),
        precedes_work: false,
    };
    let stop = watch::channel(StopLevel::No).1;
    RenderedCheck::new(&check, &ground, &Nothing).run(stop).await.verdict
}

async fn check(text: &str, expect: Expectation, ruling: CheckRuling, part: &str) {
    let dir = tempfile::tempdir().unwrap();
    let verdict = rule(dir.path(), Some(probe(text)), expect).await;
    assert_eq!(verdict.ruling, ruling, "{text}: {verdict:?}");
    let told = format!("{} {} {}", verdict.expected, verdict.found, verdict.evidence);
    assert!(told.contains(part), "{text}: {told} lacks {part}");
    assert!(!told.contains("hunter22"), "{told}");
}

fn equals(text: &str) -> Expectation {
    Expectation { equals: Some(text.into()), ..Expectation::default() }
}

#[tokio::test]
async fn probes_are_run_and_judged() {
    use CheckRuling::{Error, Fail, Pass};
    check("true", Expectation::default(), Pass, "").await;
    check("echo no >&2; exit 1", Expectation::default(), Fail, "no").await;
    check("echo hi", equals("hi"), Pass, "").await;
    check("echo hunter22", equals("hi"), Fail, "***").await;
    check("sleep 5", Expectation::default(), Error, "timed out").await;
    check("no_such_program", Expectation::default(), Error, "program `no_such_program`").await;
    check("no_such_program; true", Expectation::default(), Error, "127").await;
    check("head -c 3000000 /dev/zero", equals("hi"), Error, "more output").await;
}

#[tokio::test]
async fn a_secret_that_is_cut_off_does_not_show() {
    let script = |before: usize| {
        format!("head -c {before} /dev/zero | tr '\\0' x; printf hunter22; head -c 3000 /dev/zero; false")
    };
    for before in 440..520 {
        let dir = tempfile::tempdir().unwrap();
        let verdict = rule(dir.path(), Some(probe(&script(before))), equals("hi")).await;
        assert!(!verdict.evidence.contains("hun") && !verdict.found.contains("hun"), "{verdict:?}");
        assert!(!verdict.evidence.contains("er22"), "{verdict:?}");
    }
}

#[tokio::test]
async fn a_probe_sees_a_minimal_environment() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display();
    let expect = equals(&format!("HOME=host\nPATH=/usr/bin:/bin\nPWD={root}\nWF_WORKSPACE={root}"));
    // The mark of its processes is different each time.
    let words = ["env", "-u", "WF_TREE", "env"].map(Template::literal);
    let env = Some(CheckProbe::Exec(words.into()));
    let verdict = rule(dir.path(), env, expect).await;
    assert_eq!(verdict.ruling, CheckRuling::Pass, "{verdict:?}");
}

#[tokio::test]
async fn files_are_looked_for_inside_the_workspace_only() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/file"), "").unwrap();
    std::fs::write(dir.path().join("outside"), "").unwrap();
    std::os::unix::fs::symlink("sub/file", root.join("link")).unwrap();
    std::os::unix::fs::symlink("../outside", root.join("escape")).unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    for (path, ruling) in [
        ("sub/file", CheckRuling::Pass),
        ("sub/../sub/file", CheckRuling::Pass),
        ("link", CheckRuling::Pass),
        ("sub", CheckRuling::Fail),
        ("none", CheckRuling::Fail),
        ("none/deeper", CheckRuling::Fail),
        ("../outside", CheckRuling::Error),
        ("../none", CheckRuling::Error),
        ("escape", CheckRuling::Error),
        ("up/outside", CheckRuling::Error),
        ("up/none", CheckRuling::Error),
        ("/etc/passwd", CheckRuling::Error),
    ] {
        let expect = Expectation { file_exists: vec![path.into()], ..Expectation::default() };
        let verdict = rule(&root, None, expect).await;
        assert_eq!(verdict.ruling, ruling, "{path}: {verdict:?}");
        if ruling == CheckRuling::Error {
            assert!(verdict.found.contains("points outside the workspace"), "{verdict:?}");
        }
    }
}

#[tokio::test]
async fn a_failure_has_the_class_of_what_was_printed_last() {
    let dir = tempfile::tempdir().unwrap();
    let refused = "echo 'curl: (7) Failed to connect' >&2; exit 7";
    let late = format!("seq 400000; {refused}");
    let early = "echo 'tool: Connection refused' >&2; seq 1000 >&2; exit 1";
    for (script, failure_class) in [
        (refused, FailureClass::Environmental),
        (&late, FailureClass::Environmental),
        (early, FailureClass::Logical),
        ("kill -9 $$", FailureClass::Environmental),
        ("kill -SEGV $$", FailureClass::Logical),
        ("exit 1", FailureClass::Logical),
    ] {
        let verdict = rule(dir.path(), Some(probe(script)), Expectation::default()).await;
        let ruling = if script.contains("kill") { CheckRuling::Error } else { CheckRuling::Fail };
        assert_eq!((verdict.ruling, verdict.failure_class), (ruling, Some(failure_class)), "{script}");
    }
}

#[tokio::test]
async fn a_template_without_a_value_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let word = Template::parse("{{ params.none }}", wf_base::source::Span::default()).unwrap();
    let verdict = rule(dir.path(), Some(CheckProbe::Exec(vec![word])), Expectation::default()).await;
    assert_eq!((verdict.ruling, verdict.failure_class), (CheckRuling::Error, Some(FailureClass::Logical)));
}

/// A check that expects at least two passed tests in a report that its command writes.
async fn reported(text: &str, report: Option<&str>) -> CheckVerdict {
    let dir = tempfile::tempdir().unwrap();
    let tests = TestExpectation { report: report.map(String::from), at_least: LeastTests::Number(2) };
    let expect = Expectation { tests: Some(tests), ..Expectation::default() };
    let verdict = rule(dir.path(), Some(probe(text)), expect).await;
    let left = std::fs::read_dir(dir.path().join(".wf/reports")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{text}");
    verdict
}

#[tokio::test]
async fn a_command_that_ends_well_passes_only_with_its_report() {
    let full = "printf '1..2\\nok 1\\nok 2\\n'";
    for (text, report, ruling, found) in [
        (format!("{full} > \"$WF_REPORTS/r.tap\""), Some("r.tap"), CheckRuling::Pass, ""),
        (full.to_owned(), None, CheckRuling::Pass, ""),
        // As `os._exit(0)` in what the tests load.
        ("exit 0".to_owned(), Some("r.tap"), CheckRuling::Fail, "there is no report `r.tap`"),
        ("exit 0".to_owned(), None, CheckRuling::Fail, "the report is empty"),
        ("printf '1..2\\nok 1\\n'".to_owned(), None, CheckRuling::Fail, "the plan of the report is 2 tests"),
        (
            format!("{full} > real; ln -s \"$PWD/real\" \"$WF_REPORTS/r.tap\""),
            Some("r.tap"),
            CheckRuling::Fail,
            "no report",
        ),
        ("mkfifo \"$WF_REPORTS/r.tap\"".to_owned(), Some("r.tap"), CheckRuling::Fail, "no report"),
    ] {
        let verdict = reported(&text, report).await;
        assert_eq!(verdict.ruling, ruling, "{text}: {verdict:?}");
        assert!(verdict.found.contains(found), "{text}: {verdict:?}");
        let passed = verdict.tests.map(|tests| tests.passed);
        assert_eq!(passed, (ruling == CheckRuling::Pass).then_some(2), "{text}");
    }
}
