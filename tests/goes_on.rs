//! Runs that go on without a terminal once what they wait for is answered or over.

use std::time::Duration;

use crate::{
    support::{Sandbox, until},
    web::{Pages, last_run},
};
use wf_sign::Signer;

const ASKS: &str = "\
---
kind: plan
id: release
steps:
  - {id: agree, approve: {message: 'Publish?', timeout: TIME}}
  - {id: publish, depends_on: [agree], run: 'date +%s%N >> published'}
---
";

/// A workspace in which a run waits, and the key of a phone that may answer.
fn waiting(more: &str) -> (Sandbox, Signer) {
    let sandbox = Sandbox::new();
    sandbox.file(
        "release.md",
        ASKS.replace("TIME", "1h").replace("id: release\n", &format!("id: release\n{more}")),
    );
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    sandbox.wf(&["run", "release.md"]).exits(5);
    (sandbox, phone)
}

/// How often a process took the run.
fn leases(sandbox: &Sandbox) -> i64 {
    let sql = "SELECT count(*) FROM run_leases";
    sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// The instant, in nanoseconds since 1970, by the clock that the steps read.
fn now_ns() -> u128 {
    let stamp = tempfile::NamedTempFile::new().unwrap();
    let said = stamp.as_file().metadata();
    said.unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

#[test]
fn an_answer_on_a_page_lets_the_run_go_on() {
    let (sandbox, phone) = waiting("");
    let pages = Pages::open(&sandbox);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    let yes = pages.signed(&card, r#"{"yes": true}"#, &phone);
    let signed = now_ns();
    let recorded = pages.own_post(&format!("{card}/answer"), &yes);
    assert!(
        recorded.starts_with("HTTP/1.1 200 ") && recorded.contains(r#""run_continues":true"#),
        "{recorded}"
    );
    sandbox.until_runs_end();
    let published: u128 = sandbox.read("published").trim().parse().unwrap();
    let seconds = Duration::from_nanos(u64::try_from(published - signed).unwrap()).as_secs_f64();
    println!("MEASURED from a signature to the next step: {seconds:.3} s");
    assert!(seconds < 20.0, "{seconds}");
}

#[test]
fn a_decline_on_a_page_ends_the_run() {
    let (sandbox, phone) = waiting("");
    let pages = Pages::open(&sandbox);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    let no = pages.signed(&card, r#"{"yes": false, "reason": "not today"}"#, &phone);
    assert!(pages.own_post(&format!("{card}/answer"), &no).contains(r#""run_continues":true"#));
    sandbox.until_runs_end();
    sandbox.wf(&["show", "--last"]).says("not today");
}

#[test]
fn a_run_that_a_person_resumes_waits_for_that() {
    let (sandbox, phone) = waiting("resume: manual\n");
    let pages = Pages::open(&sandbox);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    let yes = pages.signed(&card, r#"{"yes": true}"#, &phone);
    let recorded = pages.own_post(&format!("{card}/answer"), &yes);
    assert!(recorded.contains("wf resume") && recorded.contains("resume: manual"), "{recorded}");
    assert!(recorded.contains(r#""run_continues":false"#), "{recorded}");
    sandbox.wf(&["resume", "--last", "--if-due"]).exits(0).says("resume: manual");
    let mut daemon = sandbox.command(&["daemon", "--once"]);
    assert!(daemon.status().unwrap().success());
    assert_eq!((sandbox.read("published"), leases(&sandbox)), (String::new(), 1));
    sandbox.wf(&["resume", "--last"]).exits(0);
    assert!(!sandbox.read("published").is_empty());
}

#[test]
fn a_daemon_resumes_what_was_answered_in_a_terminal() {
    let (sandbox, _) = waiting("");
    let mut daemon = sandbox.start(&["daemon"]);
    until("it leads", || {
        sandbox.at(".wf/goals").join("leader.lock").exists()
            || sandbox.wf(&["doctor"]).all().contains("leader: process")
    });
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0).says("the daemon resumes run");
    sandbox.until_runs_end();
    assert_eq!(sandbox.read("published").lines().count(), 1);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn a_daemon_ends_a_request_whose_time_is_over() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS.replace("TIME", "2s"));
    sandbox.wf(&["run", "release.md"]).exits(5);
    let mut daemon = sandbox.start(&["daemon"]);
    sandbox.until_runs_end();
    sandbox.wf(&["show", "--last"]).says("expired");
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

#[test]
fn a_daemon_resumes_a_wait_whose_engine_was_killed() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "later.md",
        "---\nkind: plan\nid: later\nsteps:\n  - {id: rest, wait: {duration: 3s}}\n  - {id: publish, depends_on: [rest], run: 'date >> published'}\n---\n",
    );
    let mut engine = sandbox.start(&["run", "later.md"]);
    until("it waits", || sandbox.wf(&["show", "--last"]).all().contains("rest"));
    engine.kill().unwrap();
    engine.wait().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(sandbox.command(&["daemon", "--once"]).status().unwrap().success());
    assert_eq!(sandbox.read("published").lines().count(), 1);
}

#[test]
fn many_that_try_at_once_resume_a_run_once() {
    let (sandbox, _) = waiting("");
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    let tries: Vec<_> = (0..6).map(|_| sandbox.start(&["resume", "--last", "--if-due"])).collect();
    for one in tries {
        let did = one.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&did.stderr).into_owned() + &String::from_utf8_lossy(&did.stdout);
        assert_eq!(did.status.code(), Some(0), "{told}");
        assert!(!told.contains("error"), "{told}");
    }
    // One that looked before the run had ended may take it after that, and finds nothing to do.
    assert_eq!(sandbox.read("published").lines().count(), 1);
    let sql = "SELECT count(*) FROM events WHERE kind = 'run_ended'";
    let ends: i64 = sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(ends, 1, "one process ended it");
}
