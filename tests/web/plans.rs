//! Plans in a browser: the list, the page of one, and the form that starts it.

use super::{GOAL, Pages, last_run};
use crate::support::{Sandbox, until};
use wf_sign::{DsseEnvelope, Signer, canonical};

/// A plan with a step without a sandbox.
const UNCONFINED: &str = "---\nkind: plan\nid: burn\nsteps:\n  - {id: burn, run: touch burnt}\n---\n";

/// A plan of which a login starts a run: its steps write nothing but what they declare.
pub const REPORT: &str = "\
---
kind: plan
id: report
title: The report
params:
  region: {type: string, pattern: '^[a-z]+$', description: Where it is from}
  copies: {type: integer, minimum: 1, maximum: 9, default: 2}
  size: {type: string, enum: [small, large], default: small}
  draft: {type: boolean, default: false}
  day: {type: string, format: date, default: '2026-11-21'}
  tags: {type: array, items: {type: string}, default: [a]}
budget: {max_attempts: 9}
steps:
  - id: write
    allow: {write: [out]}
    run: mkdir -p out && echo \"$WF_PARAM_REGION $WF_PARAM_COPIES $WF_PARAM_SIZE $WF_PARAM_DRAFT $WF_PARAM_TAGS\" > out/report
  - {id: agree, depends_on: [write], when: params.draft, approve: {message: 'Send the draft?'}}
---

Writes the `report` of a region.
";

/// Returns the hidden fields of a form, as a browser sends them.
fn hidden(page: &str) -> String {
    let value = |name: &str| {
        let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).expect("it is a form");
        rest.split('"').next().unwrap().to_owned()
    };
    format!("key={}&plan_digest={}", value("key"), value("plan_digest"))
}

const FORM: &str = "/plans/report/start";

fn started(answer: &str) -> String {
    assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
    let (_, rest) = answer.split_once("location: /runs/").expect("it leads to a run");
    rest.split('\r').next().unwrap().to_owned()
}

#[test]
fn a_plan_is_started_in_a_browser_with_its_parameters_once() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    let pages = Pages::open(&sandbox);
    pages.shows("/plans", &["The report", "report.md", "none yet", "/plans/report/start"]);
    let page = pages.ask(FORM);
    for text in [
        "Run The report</button>",
        "Where it is from",
        "type=\"number\" value=\"2\" min=\"1\" max=\"9\" step=\"1\"",
        "type=\"radio\" name=\"p.size\" value=\"small\" checked",
        "type=\"checkbox\" id=\"p-draft\"",
        "type=\"date\" value=\"2026-11-21\"",
        "data-state=\"medium\"",
        "9 attempts",
        "<dd>out</dd>",
        "Send the draft?",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let sent = format!(
        "{}&p.region=eu&p.copies=3&p.size=large&p.day=2026-11-30&p.tags=%5B%22b%22%5D",
        hidden(&page)
    );
    let run = started(&pages.own_post(FORM, &sent));
    assert_eq!(started(&pages.own_post(FORM, &sent)), run, "a second tap leads to the same run");
    let other = pages.own_post(FORM, &sent.replace("copies=3", "copies=4"));
    assert!(other.starts_with("HTTP/1.1 422 ") && other.contains("has started run"), "{other}");
    assert!(other.contains("value=\"4\"") && hidden(&other) != hidden(&page), "it is a new form: {other}");
    assert_ne!(hidden(&pages.ask(FORM)), hidden(&pages.ask(FORM)), "each form has a key of its own");
    until("the run ends", || pages.ask(&format!("/runs/{run}")).contains("data-state=\"succeeded\""));
    assert_eq!(last_run(&sandbox), run);
    let runs: serde_json::Value = serde_json::from_str(&sandbox.wf(&["runs", "--json"]).out).unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 1, "{runs}");
    assert_eq!(sandbox.read("out/report"), "eu 3 large false [\"b\"]\n");
    pages.shows("/audit?kind=run_requested", &["plan=report", &run, "· a browser"]);
    let log = sandbox.read(".wf/audit/log.jsonl");
    let place = |kind: &str| log.find(&format!("\"{kind}\"")).unwrap_or_else(|| panic!("{kind}: {log}"));
    assert!(place("run_requested") < place("run_started"), "a kill in between loses no request: {log}");
    let left = std::fs::read_dir(sandbox.at(".wf/starts")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "no file of the start outlives it");
    pages.shows("/plans", &["<svg class=\"bars\"", "oldest first: succeeded in", "100 %"]);
    pages.shows(
        "/plans/report",
        &["<code>report</code> of a region", &run, "class=\"graph\"", "/steps/write"],
    );
    pages.shows("/plans/report/source", &["id=\"L3\"", "id: report"]);
    // The parameters of a run stand in the fields, and a new form starts a new run.
    let again = pages.ask(&format!("{FORM}?from={}", &run[..8]));
    assert!(again.contains("value=\"eu\"") && again.contains("value=\"large\" checked"), "{again}");
    let sent =
        format!("{}&p.region=us&p.copies=1&p.size=small&p.day=2026-11-30&p.tags=%5B%5D", hidden(&again));
    assert_ne!(started(&pages.own_post(FORM, &sent)), run);
}

#[test]
fn what_is_wrong_stands_beside_its_field_and_nothing_starts() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    let pages = Pages::open(&sandbox);
    let page = pages.ask(FORM);
    let sent = format!("{}&p.region=EU&p.copies=99&p.size=large&p.draft=true&p.tags=%5B1", hidden(&page));
    let refused = pages.own_post(FORM, &sent).replace("&#x2f;", "/");
    assert!(refused.starts_with("HTTP/1.1 422 "), "{refused}");
    for text in [
        "id=\"p-region-mistake\"",
        "99 is greater than the maximum of 9",
        "value=\"EU\"",
        "value=\"99\"",
        "value=\"large\" checked",
        "value=\"true\" checked",
        "[1</textarea>",
    ] {
        assert!(refused.contains(text), "{text}: {refused}");
    }
    let missing = pages.own_post(FORM, &format!("{}&p.region=", hidden(&page)));
    assert!(missing.contains("a value is required"), "{missing}");
    let keyless = pages.own_post(FORM, "p.region=eu");
    assert!(keyless.starts_with("HTTP/1.1 422 ") && keyless.contains("open it again"), "{keyless}");
    sandbox.file("report.md", REPORT.replace("mkdir", "mkdir -v"));
    let changed = pages.own_post(FORM, &format!("{}&p.region=eu&p.renamed=typed", hidden(&page)));
    assert!(changed.starts_with("HTTP/1.1 422 ") && changed.contains("has changed"), "{changed}");
    assert!(changed.contains("no parameter renamed (typed) any more"), "{changed}");
    assert!(pages.own_post("/plans/none/start", "").starts_with("HTTP/1.1 404 "));
    let page = pages.ask(FORM);
    let elsewhere =
        pages.own_post("/plans/none/start", &format!("{}&path=report.md&p.region=eu", hidden(&page)));
    assert!(
        elsewhere.starts_with("HTTP/1.1 422 ") && elsewhere.contains("is not there any more"),
        "{elsewhere}"
    );
    pages.shows("/runs", &["No run matches"]);
}

#[test]
fn what_was_typed_outlives_a_plan_that_breaks_or_goes() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    let pages = Pages::open(&sandbox);
    let sent = format!("{}&path=report.md&p.region=eu&p.copies=7", hidden(&pages.ask(FORM)));
    let refused = |why: &str| {
        let answer = pages.own_post(FORM, &sent).replace("&#x2f;", "/");
        assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains(why), "{why}: {answer}");
        for text in ["eu</textarea>", "7</textarea>", "Nothing has started", "Look at the form again"] {
            assert!(answer.contains(text), "{text}: {answer}");
        }
    };
    sandbox.file("report.md", REPORT.replace("steps:", "stepz:"));
    refused("unknown key");
    sandbox.file("report.md", "---\n{\n---\n");
    refused("there is no plan in <code>report.md</code> any more");
    std::fs::remove_file(sandbox.at("report.md")).unwrap();
    refused("there is no plan in <code>report.md</code> any more");
    sandbox.file("report.md", REPORT.replace("mkdir", "mkdir -v"));
    let mended = pages.own_post(FORM, &sent);
    assert!(mended.contains("has changed") && mended.contains("value=\"7\""), "{mended}");
    let sent = format!("{}&path=report.md&p.region=eu", hidden(&mended));
    started(&pages.own_post(FORM, &sent));
    sandbox.until_runs_end();
    pages.shows(&format!("{FORM}?from=zz"), &["there is no run <code>zz</code>"]);
}

#[test]
fn a_program_reads_refusals_as_json() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    sandbox.wf(&["run", "report.md", "-p", "region=eu"]).exits(0);
    let run = last_run(&sandbox);
    let mut pages = Pages::open(&sandbox);
    let key = hidden(&pages.ask(FORM));
    let view = pages.view(&format!("/runs/{run}"));
    assert_eq!(view["record"]["steps"].as_array().map(Vec::len), Some(2), "{view}");
    pages.cookie += "Accept: application/json\r\n";
    let reads = |answer: &str, status: &str, error: &str| {
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        let body = answer.split("\r\n\r\n").last().unwrap();
        let body: serde_json::Value =
            serde_json::from_str(body).unwrap_or_else(|bad| panic!("{bad}: {answer}"));
        assert!(body["error"].as_str().unwrap().contains(error), "{answer}");
    };
    reads(&pages.ask("/plans/none"), "404", "There is no such page");
    reads(&pages.own_post(&format!("/runs/{run}/cancel"), ""), "409", "has already finished");
    reads(&pages.own_post(FORM, &format!("{key}&path=report.md&p.region=EU")), "422", "region");
    reads(&pages.post(FORM, "https://evil.example", ""), "403", "another site");
    "Accept: application/json\r\n".clone_into(&mut pages.cookie);
    reads(&pages.own_post(FORM, ""), "401", "may not look yet");
}

/// Drafts the statement that starts a plan, signs it, and returns the form with it.
fn signed(pages: &Pages, fields: &str, signer: &Signer) -> String {
    let drafted = pages.own_post("/plans/burn/start/draft", fields);
    assert!(drafted.starts_with("HTTP/1.1 200 "), "{drafted}");
    let draft: serde_json::Value = serde_json::from_str(drafted.split("\r\n\r\n").last().unwrap()).unwrap();
    assert!(
        draft["review"].as_str().unwrap().contains("touch burnt"),
        "all that it may do is shown: {draft}"
    );
    let text = |key: &str| draft[key].as_str().unwrap();
    let envelope = DsseEnvelope::seal(text("payload_type"), text("payload").as_bytes(), signer);
    let token = canonical(&serde_json::to_value(&envelope).unwrap()) + "\n";
    let encoded: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("{fields}&token={encoded}")
}

#[test]
fn an_approver_signs_for_a_plan_that_may_do_more() {
    let sandbox = Sandbox::new();
    sandbox.file("burn.md", UNCONFINED);
    let (phone, path) = (Signer::from_bytes(&[7; 32]), "/plans/burn/start");
    let pages = Pages::open(&sandbox);
    let page = pages.ask(path);
    for text in
        ["data-state=\"high\"", "Sign and run burn</button>", "wf run burn.md", "/start.js", "id=\"sign\""]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    let fields = hidden(&page);
    let refused = |sent: &str, why: &str| {
        let answer = pages.own_post(path, sent);
        assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains(why), "{why}: {answer}");
    };
    refused(&fields, "starts up to medium");
    refused(&signed(&pages, &fields, &phone), "Nothing has started");
    refused(&format!("{fields}&token=x"), "signature rejected");
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    let fields = hidden(&pages.ask(path));
    let sent = signed(&pages, &fields, &phone);
    sandbox.file("burn.md", UNCONFINED.replace("touch", "true && touch"));
    refused(&sent, "has changed");
    sandbox.file("burn.md", UNCONFINED);
    let run = started(&pages.own_post(path, &sent));
    assert_eq!(started(&pages.own_post(path, &sent)), run);
    until("the run ends", || pages.ask(&format!("/runs/{run}")).contains("data-state=\"succeeded\""));
    assert_eq!(sandbox.read("burnt"), "");
    pages.shows("/audit?kind=run_requested", &["plan=burn", &run, "· a browser"]);
    refused(&hidden(&pages.ask(path)), "starts up to medium");
}

#[test]
fn a_statement_for_one_workspace_starts_nothing_in_a_copy() {
    let phone = Signer::from_bytes(&[7; 32]);
    let make = || {
        let sandbox = Sandbox::new();
        sandbox.file("burn.md", UNCONFINED);
        sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
        sandbox
    };
    let (one, copy) = (make(), make());
    copy.file("approvers.yaml", one.read("approvers.yaml"));
    let path = "/plans/burn/start";
    let (pages, others) = (Pages::open(&one), Pages::open(&copy));
    let sent = signed(&pages, &hidden(&pages.ask(path)), &phone);
    let refused = others.own_post(path, &sent);
    assert!(
        refused.starts_with("HTTP/1.1 422 ") && refused.contains("for another workspace"),
        "the same files, and another place: {refused}"
    );
    others.shows("/runs", &["No run matches"]);
    started(&pages.own_post(path, &sent));
    one.until_runs_end();
    // The command that starts a run says the same.
    let token = sent.split("token=").nth(1).unwrap();
    let bytes: Vec<u8> = token.split('%').skip(1).map(|hex| u8::from_str_radix(hex, 16).unwrap()).collect();
    copy.file("stolen.json", String::from_utf8(bytes).unwrap());
    copy.wf(&["run", "burn.md", "--approval", "stolen.json"]).exits(4).says("for another workspace");
}

#[test]
fn only_a_browser_that_may_start_starts_something() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    let pages = Pages::open(&sandbox);
    let page = pages.ask(FORM);
    let sent = format!("{}&p.region=eu", hidden(&page));
    let link = pages.link("operate");
    let mut operator = pages;
    operator.log_in(&link[operator.origin().len()..]);
    let refused = operator.own_post(FORM, &sent);
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("may not start runs"), "{refused}");
    let more = operator.own_post("/links", "access=start");
    assert!(more.starts_with("HTTP/1.1 403 "), "it gives no more than it has: {more}");
    let page = operator.ask(FORM);
    assert!(page.contains("wf run report.md") && !page.contains("<button class=\"yes\">Run"), "{page}");
    let looker = operator.that_may_look();
    let refused = looker.own_post(FORM, &sent);
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("may only look"), "{refused}");
    looker.shows("/plans/report", &["wf run report.md"]);
    let link = sandbox.wf(&["serve", "link", "--may", "start"]);
    let mut starter = looker;
    starter.log_in(&link.exits(0).out.trim()[starter.origin().len()..]);
    started(&starter.own_post(FORM, &sent));
}

#[test]
fn a_plan_that_cannot_be_read_is_listed_with_its_first_problem() {
    let sandbox = Sandbox::new();
    sandbox
        .file("inner.md", "---\nkind: plan\nid: inner\nsteps:\n  - {id: one, run: 'true'}\n---\n")
        .file("outer.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: inner.md}\n---\n")
        .file("ops/x.md", "---\nkind: plan\nid: hidden\nsteps: []\n---\n")
        .file("broken.md", "---\nkind: plan\nid: broken\nstepz: []\n---\n")
        .file("goals/mirror.md", GOAL);
    let pages = Pages::open(&sandbox);
    pages.shows("/plans", &["broken.md:4: ", "data-state=\"broken\"", "inner"]);
    assert!(!pages.ask("/plans").contains("/plans/broken/start"), "it cannot be run");
    pages.shows("/plans/broken", &["/plans/broken/source#L4", "unknown key"]);
    pages.shows("/plans/inner", &["Used by", "/plans/outer", "It has not run yet"]);
    pages.shows("/plans/broken/start", &["broken"]);
    assert!(pages.ask("/plans/mirror").starts_with("HTTP/1.1 404 "), "a goal has a page of its own");
    assert!(pages.ask("/plans/none").starts_with("HTTP/1.1 404 "));
}

/// A plan of which one step needs two attempts in the first run, and another one fails once the first run is over.
const SHAKY: &str = "\
---
kind: plan
id: shaky
steps:
  - {id: fetch, run: 'test -e fetched || (touch fetched; false)', retry: {max: 1, backoff: 10ms}}
  - {id: publish, run: mkdir published, depends_on: [fetch]}
---
";

#[test]
fn a_plan_shows_how_its_last_runs_went_and_which_steps_are_shaky() {
    let sandbox = Sandbox::new();
    sandbox.file("shaky.md", SHAKY);
    let pages = Pages::open(&sandbox);
    assert!(!pages.ask("/plans/shaky").contains("<h2>Trend</h2>"));
    for code in [0, 1, 1] {
        sandbox.wf(&["run", "shaky.md", "-q"]).exits(code);
    }
    let trend = &pages.view("/plans/shaky")["trend"];
    let lives: Vec<_> = trend["runs"].as_array().unwrap().iter().map(|run| run["life"].clone()).collect();
    assert_eq!(lives, ["failed", "failed", "succeeded"]);
    assert_eq!(
        (&trend["is_cut"], &trend["runs"][0]["cost_micro_usd"]),
        (&false.into(), &serde_json::Value::Null)
    );
    let weeks = trend["weeks"].as_array().unwrap();
    let sum = |key: &str| weeks.iter().filter_map(|week| week[key].as_u64()).sum::<u64>();
    assert_eq!((sum("succeeded"), sum("ended")), (1, 3), "the runs may lie in two weeks: {trend}");
    let flaky: Vec<_> = trend["flakiest"].as_array().unwrap().iter().collect();
    assert_eq!((flaky.len(), &flaky[0]["step"], &flaky[0]["repeated"]), (1, &"fetch".into(), &1.into()));
    let shares = trend["slowest"].as_array().unwrap().iter();
    let shares: u64 = shares.filter_map(|step| step["critical_percent"].as_u64()).sum();
    assert!((98..=100).contains(&shares), "each step is on the longest chain: {trend}");
    let shown = ["The durations of the last 3 runs", "class=\"median\"", "in 1 of 3 runs", "Of all 3 runs"];
    pages.shows("/plans/shaky", &shown);
}
