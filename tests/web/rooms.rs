//! Activity, memory, skills, connections, the audit log, and goals that a browser operates.

use std::os::unix::fs::PermissionsExt as _;

use super::{GOAL, Pages, last_run};
use crate::{
    connections,
    remembers::PLAN as HEAL,
    support::{Sandbox, until},
};

const JOB: &str = "\
---
kind: plan
id: job
steps:
  - {id: work, run: 'true'}
  - {id: agree, depends_on: [work], approve: {message: 'Go on?'}}
---
";

#[test]
fn pages_tell_what_was_done() {
    let sandbox = Sandbox::new();
    sandbox.file("job.md", JOB);
    let pages = Pages::open(&sandbox);
    pages.shows("/activity", &["Nothing has happened here yet"]);
    pages.shows("/audit", &["The auditor has recorded nothing yet"]);
    pages.shows("/audit/verify", &["There is nothing to verify yet"]);
    sandbox.wf(&["run", "job.md"]).exits(5);
    sandbox.wf(&["approve", "--last", "--yes", "--reason", "it is fine"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(0);
    let run = last_run(&sandbox);
    let told = [
        "<code>job</code> succeeded after",
        "asked people: Go on?",
        "approved <code>agree</code> of <code>job</code>",
        "robin (key ",
    ];
    pages.shows("/activity", &told);
    pages.shows(
        "/activity?person=robin",
        &["approved <code>agree</code> of <code>job</code>", &format!("/runs/{run}")],
    );
    let other = pages.ask("/activity?q=succeeded&plan=job");
    assert!(other.contains("<code>job</code> succeeded") && !other.contains("Go on?"), "{other}");
    pages.shows("/activity?plan=other", &["Nothing in this part of the log matches"]);

    pages.shows("/audit", &["run_started", "approval_resolved", "/audit/1", &run]);
    pages.shows("/audit?kind=run_ended", &["outcome=succeeded"]);
    pages.shows(&format!("/audit?run={}", &run[..8]), &["run_ended"]);
    pages.shows("/audit?kind=none", &["Nothing in this part of the log matches"]);
    pages.shows("/audit/1", &["Record 1", "The line, as it is in the log"]);
    pages.shows("/audit/verify", &["are consistent", "data-state=\"valid\""]);
    let log = sandbox.at(".wf/audit/log.jsonl");
    let text = std::fs::read_to_string(&log).unwrap().replacen("run_started", "run_stopped", 1);
    std::fs::write(&log, text).unwrap();
    pages.shows("/audit/verify", &["data-state=\"invalid\"", "Faults"]);
    pages.shows("/audit", &["altered line"]);
}

#[test]
fn pages_show_memory_skills_and_connections() {
    let sandbox = Sandbox::new();
    let pages = Pages::open(&sandbox);
    pages.shows("/memory", &["There are no notes", "No run has left an outcome yet"]);
    pages.shows("/skills", &["There are no skills"]);
    pages.shows("/connections", &["There are no connections"]);
    sandbox.wf(&["memory", "add", "The mirror is slow on Sundays <b>", "--kind", "fact"]).exits(0);
    pages.shows("/memory", &["The mirror is slow on Sundays &lt;b&gt;"]);
    pages.shows("/memory?q=mirrors", &["The mirror is slow"]);
    pages.shows("/memory?q=elsewhere", &["No note has one of these words"]);
    let page = pages.ask("/memory");
    let item = page.split("href=\"/memory/").nth(1).unwrap().split('"').next().unwrap();
    pages.shows(&format!("/memory/{item}"), &["Its quality, by terms", "0.35", "freshness"]);
    let plain = "---\nname: tables\ndescription: Writes tables.\n---\n\nUse <i>pipes</i>.\n";
    sandbox.file("skills/tables/SKILL.md", plain).file("skills/tables/references/style.md", "x");
    pages.shows("/skills", &["tables", "Writes tables.", "it is not locked", "/skills/tables"]);
    let shown =
        ["wf skill lock tables", "references/style.md", "Use &lt;i&gt;pipes&lt;/i&gt;", "It is not locked."];
    pages.shows("/skills/tables", &shown);
}

#[test]
fn a_browser_pauses_resumes_and_starts_a_goal() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/mirror.md", GOAL);
    let pages = Pages::open(&sandbox);
    pages.shows("/", &["Wrong now", "wf daemon"]);
    pages.shows("/goals/mirror?month=2026-10", &["Calendar of 2026-10", "clocks go back to 02:00", "07:00"]);
    for (path, refusal) in [
        ("/goals/mirror?month=nonsense", "There is no such month or hour"),
        ("/goals/mirror?month=2026-9223372036854775807", "There is no such month or hour"),
        ("/goals/mirror?hour=2026-10-25", "There is no such month or hour"),
        ("/schedule?week=2026-02-30", "There is no such week"),
    ] {
        let page = pages.ask(path);
        assert!(page.starts_with("HTTP/1.1 404 ") && page.contains(refusal), "{path}: {page}");
    }
    pages.shows(
        "/goals/mirror?hour=2026-10-25T07",
        &["Calendar of 2026-10", "Slots of 2026-10-25 07 h", "07:00"],
    );
    for (month, beside) in [("1970-01", "?month=1970-02#calendar"), ("9998-12", "?month=9998-11#calendar")] {
        let page = pages.ask(&format!("/goals/mirror?month={month}"));
        assert!(page.contains(beside) && page.matches("#calendar\"").count() == 91, "{month}: {page}");
    }
    pages.shows(
        "/goals",
        &["Nothing that is due starts: the daemon is not running", "tabindex=\"0\" datetime="],
    );
    pages.shows(
        "/schedule?week=2026-10-25",
        &["Week of 2026-10-19", "Sun 25", "?week=2026-10-26", "/goals/mirror"],
    );
    let paused = pages.own_post("/goals/mirror/pause", "reason=rain+%3Cb%3E");
    assert!(paused.starts_with("HTTP/1.1 303 ") && paused.contains("location: /goals/mirror"), "{paused}");
    pages.shows("/goals/mirror", &["data-state=\"paused\"", "rain &lt;b&gt;", "Resume"]);
    sandbox.wf(&["goal", "list"]).exits(0).says("rain");
    pages.shows("/audit?kind=goal_paused", &["goal=mirror"]);
    pages.shows("/activity", &["the goal <code>mirror</code> was paused: rain"]);
    assert!(pages.own_post("/goals/mirror/resume", "").starts_with("HTTP/1.1 303 "));
    pages.shows("/goals/mirror", &["Run now"]);
    let refused = pages.own_post("/goals/mirror/run", "");
    assert!(refused.starts_with("HTTP/1.1 409 ") && refused.contains("no daemon runs here"), "{refused}");

    sandbox.wf(&["goal", "accept", "mirror"]);
    let mut daemon = sandbox.start(&["daemon"]);
    until("the daemon leads", || !pages.ask("/").contains("goals are scheduled only by"));
    sandbox.file("mirror", "");
    let asked = pages.own_post("/goals/mirror/run", "");
    assert!(asked.starts_with("HTTP/1.1 303 "), "{asked}");
    until("the daemon has reconciled it", || pages.ask("/goals/mirror").contains("data-state=\"healthy\""));
    let page = pages.ask("/goals");
    assert!(page.contains("UTC: healthy") && !page.contains("Nothing that is due starts"), "{page}");
    let run = last_run(&sandbox);
    assert!(page.contains(&format!("<a href=\"/runs/{run}\"")), "{page}");
    pages.shows(&format!("/runs/{run}"), &["look of the goal <a href=\"/goals/mirror\">mirror</a>"]);
    pages.shows("/activity", &["the goal <code>mirror</code> is healthy"]);
    pages.shows("/audit?kind=goal_requested", &["goal=mirror", "· a browser"]);
    let _ = daemon.kill();
    let _ = daemon.wait();
}

const LAMP: &str = "\
---
kind: goal
id: lamp
schedule: '0 * * * *'
on_failure: spawn_plan
verify:
  - {name: is_on, run: test -e on}
repair:
  steps:
    - {id: switch, run: touch on, writes: [on]}
---
";

#[test]
fn a_goal_shows_what_it_may_do_and_what_its_repairs_advise() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/lamp.md", LAMP);
    sandbox.file(
        "wf.yaml",
        "autonomy: {min_samples: 2, widen_below: 0.1, tighten_above: 0.5, most_executions: 7}\n",
    );
    let pages = Pages::open(&sandbox);
    pages.shows("/goals/lamp", &["Nothing is repaired:", "lamp.approval.json not found"]);
    sandbox.wf(&["key", "init"]).exits(0);
    sandbox.wf(&["approve", "goals/lamp.md", "--executions", "3", "--expires", "1d", "--yes"]).exits(0);
    for _ in 0..2 {
        let _ = std::fs::remove_file(sandbox.at("on"));
        sandbox.wf(&["goal", "run", "lamp", "-q"]).exits(0);
    }
    let told = [
        "2 of 3 used",
        "Of 2 repairs",
        "widen",
        "3 in 1d → 6 in 2d?",
        "wf approve goals/lamp.md --executions 6",
    ];
    pages.shows("/goals/lamp", &told);
}

#[test]
fn pages_show_a_connection_that_is_set_up_and_a_locked_skill_and_no_secret() {
    let place = connections::place();
    connections::add(&place).exits(0);
    let pages = Pages::open(&place);
    pages.shows("/connections", &["box", "keybox", "Permissions", "/skills/keybox"]);
    pages.shows("/skills", &["keybox"]);
    pages.shows("/skills/keybox", &["keybox", "SKILL.md"]);
    for path in ["/connections", "/skills/keybox", "/audit", "/activity", "/"] {
        assert!(!pages.ask(path).contains(connections::KEY), "{path} shows the secret");
    }
}

#[test]
fn a_page_explains_a_megram_with_its_cluster() {
    let sandbox = Sandbox::new();
    sandbox.file("heal.md", HEAL);
    sandbox.wf(&["run", "heal.md"]).exits(0);
    let pages = Pages::open(&sandbox);
    let page = pages.ask("/memory");
    let items: Vec<&str> =
        page.split("href=\"/memory/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(!items.is_empty(), "a run leaves an outcome: {page}");
    for item in items {
        pages.shows(&format!("/memory/{item}"), &["The evidence says", "Attention"]);
    }
}

#[test]
fn a_link_is_made_for_a_server_that_runs() {
    let sandbox = Sandbox::new();
    let none = sandbox.wf(&["serve", "link"]).exits(6);
    assert!(none.err.contains("wf serve"), "{}", none.err);
    let mut pages = Pages::open(&sandbox);
    let link = sandbox.wf(&["serve", "link", "--may", "look"]).exits(0).out;
    pages.log_in(&link.trim()[pages.origin().len()..]);
    pages.shows("/", &["Needs you"]);
    assert!(pages.own_post("/runs/1/undo", "").starts_with("HTTP/1.1 403 "));
    let file = std::fs::metadata(sandbox.at(".wf/logins.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600, "only its owner may read it");
    sandbox.file(".wf/logins.json", "");
    assert!(
        pages.ask("/").starts_with("HTTP/1.1 401 "),
        "with another file in its place, nobody is logged in"
    );
    drop(pages);
    let none = sandbox.wf(&["serve", "link"]).exits(6);
    assert!(none.err.contains("no server"), "{}", none.err);
}
