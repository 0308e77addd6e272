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

/// A run whose process was killed while a step asked and others worked, one of them in a nested run.
fn killed() -> Sandbox {
    let sandbox = Sandbox::new();
    let work = "until test -e go; do sleep 0.05; done";
    sandbox.file(
        "inner.md",
        format!("---\nkind: plan\nid: inner\nsteps:\n  - {{id: slow, run: 'touch nests; {work}'}}\n---\n"),
    );
    sandbox.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: outer\npolicy: {{max_parallel: 4}}\nsteps:\n  - {{id: agree, approve: {{message: 'Go?'}}}}\n  - {{id: nest, uses: inner.md}}\n  \
             - {{id: work, run: 'touch works; {work}'}}\n  \
             - {{id: pay, for_each: [500, 600], max_parallel: 1, run: 'touch \"pays$WF_ITEM\"; {work}'}}\n---\n"
        ),
    );
    let mut engine = sandbox.start(&["run", "plan.md", "--wait"]);
    until("the steps run", || ["nests", "works", "pays500"].iter().all(|file| sandbox.at(file).exists()));
    until("it asks", || sandbox.wf(&["inbox"]).all().contains("Go?"));
    engine.kill().unwrap();
    engine.wait().unwrap();
    sandbox
}

fn json(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&sandbox.wf(args).exits(0).out).unwrap()
}

#[test]
fn a_killed_run_that_left_work_undone_is_interrupted_and_its_request_stays() {
    let sandbox = killed();
    let listed = json(&sandbox, &["runs", "--all", "--json"]);
    for run in listed["runs"].as_array().unwrap() {
        assert_eq!(
            (&run["life"], &run["took_ms"]),
            (&"interrupted".into(), &serde_json::Value::Null),
            "{run}"
        );
    }
    assert!(sandbox.wf(&["runs", "--state-is", "waiting"]).all().contains("no matching runs"));
    let shown = sandbox.wf(&["show", "--last"]).exits(0).all();
    for line in
        ["interrupted            nest", "interrupted              slow", "interrupted            work"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for line in ["pay · 0 of 2", "interrupted              pay[600]", "waiting            agree", "wf resume"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    for word in [" running ", " queued "] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
    let pages = Pages::open(&sandbox);
    let run = last_run(&sandbox);
    for tab in ["timeline", "graph", "steps"] {
        let page = pages.ask(&format!("/runs/{run}?tab={tab}"));
        assert!(page.contains("interrupted") && !page.contains("data-state=\"running\""), "{tab}: {page}");
    }
    assert!(!pages.ask(&format!("/runs/{run}")).contains("worked on for"), "nobody knows for how long");
    sandbox.wf(&["inbox"]).exits(0).says("Go?");
    sandbox.file("go", "");
    sandbox.wf(&["approve", "--last", "--yes", "--no-resume"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(0).says("succeeded");
}

#[test]
fn a_daemon_resumes_an_interrupted_run_and_work_that_outlived_its_process_counts() {
    let sandbox = killed();
    let nested = json(&sandbox, &["runs", "--all", "--json"])["runs"][0]["id"].as_str().unwrap().to_owned();
    let refused = sandbox.wf(&["cancel", &nested]).exits(2).says("is nested in another run: nest#1");
    refused.says(&format!("cancel that one: wf cancel {}", &last_run(&sandbox)[..8]));
    std::thread::sleep(Duration::from_secs(4));
    sandbox.file("go", "");
    sandbox.wf(&["approve", "--last", "--yes", "--no-resume"]).exits(0);
    assert!(sandbox.command(&["daemon", "--once"]).status().unwrap().success());
    sandbox.until_runs_end();
    let run = &json(&sandbox, &["show", "--last", "--json"])["run"];
    assert_eq!(run["state"], "succeeded");
    assert!(run["idle_ms"].as_u64().unwrap() < 4_000, "its step went on: {run}");
    let logs = sandbox.wf(&["show", "--last"]).exits(0).all();
    assert!(logs.contains("pay[500]") && logs.contains("pay[600]"), "{logs}");
}

#[test]
fn a_daemon_resumes_an_interrupted_run_that_asks_for_nothing() {
    let sandbox = Sandbox::new();
    let work = "until test -e go; do sleep 0.05; done";
    sandbox.file(
        "inner.md",
        format!("---\nkind: plan\nid: inner\nsteps:\n  - {{id: slow, run: 'touch nests; {work}'}}\n---\n"),
    );
    for (manual, end) in [("resume: manual\n", "interrupted"), ("", "succeeded")] {
        let nests = "steps:\n  - {id: nest, uses: inner.md}\n---\n";
        sandbox.file("plan.md", format!("---\nkind: plan\nid: outer\n{manual}{nests}"));
        let mut engine = sandbox.start(&["run", "plan.md"]);
        until("it runs", || sandbox.at("nests").exists());
        engine.kill().unwrap();
        engine.wait().unwrap();
        sandbox.file("go", "");
        assert!(sandbox.command(&["daemon", "--once"]).status().unwrap().success());
        let life = || json(&sandbox, &["runs", "--json"])["runs"][0]["life"].clone();
        until("it has gone on", || life() == end);
        std::fs::remove_file(sandbox.at("go")).unwrap();
        std::fs::remove_file(sandbox.at("nests")).unwrap();
    }
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
