//! Every kind of page, in a workspace that has something for each: the list of what is visited by tests about all pages.
//!
//! A page that is routed and not in the list fails a test, so none is forgotten.

use std::os::unix::fs::PermissionsExt as _;

use super::{
    GOAL, Pages, ROUNDS, answers::IRREVERSIBLE, exchange::careful_in, last_run, plans::REPORT,
    run_tabs::shown_files, suggestions::suggest_in,
};
use crate::{connections, remembers::PLAN as HEAL, support::Sandbox};

/// The kinds of pages: a name, which is also that of its picture, its route, and an address where words in capitals stand for what
/// the workspace has.
const PAGES: [(&str, &str, &str); 66] = [
    ("home", "/", "/"),
    ("search", "/search", "/search?q=release"),
    ("more", "/more", "/more"),
    ("inbox", "/inbox", "/inbox"),
    ("card", "/inbox/{run}/{number}", "/inbox/WAITING/1"),
    ("card-irreversible", "/inbox/{run}/{number}", "/inbox/PAYS/1"),
    ("card-decided", "/inbox/{run}/{number}", "/inbox/AGENT/1"),
    ("keys", "/keys", "/keys"),
    (
        "enrol",
        "/keys/enrol",
        "/keys/enrol?key=3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    ),
    ("me", "/me", "/me"),
    ("refused", "/login", "/login?key=0"),
    ("runs", "/runs", "/runs?checks=all"),
    ("runs-chosen", "/runs", "/runs?state=failed&q=build&since=24h&sort=-duration"),
    ("runs-problem", "/runs", "/runs?since=soon"),
    ("runs-selected", "/runs/selected", "/runs/selected?act=retry&run=WAITING&run=FAILED&run=FETCH"),
    ("run", "/runs/{run}", "/runs/WAITING"),
    ("run-graph", "/runs/{run}", "/runs/WAITING?tab=graph"),
    ("run-steps", "/runs/{run}", "/runs/WAITING?tab=steps"),
    ("run-about", "/runs/{run}", "/runs/WAITING?tab=about"),
    ("run-failed", "/runs/{run}", "/runs/FAILED"),
    ("run-no-files", "/runs/{run}", "/runs/FAILED?tab=files"),
    ("run-rounds", "/runs/{run}", "/runs/FETCH?tab=rounds"),
    ("run-files", "/runs/{run}", "/runs/FETCH?tab=files"),
    ("run-agents", "/runs/{run}", "/runs/AGENT?tab=agents"),
    ("diff", "/runs/{run}/diff", "/runs/WAITING/diff"),
    ("diff-other", "/runs/{run}/diff", "/runs/WAITING/diff?with=FETCH"),
    ("step", "/runs/{run}/steps/{step}", "/runs/WAITING/steps/build"),
    ("step-attempts", "/runs/{run}/steps/{step}", "/runs/FETCH/steps/fetch"),
    ("output", "/runs/{run}/steps/{step}/output", "/runs/WAITING/steps/build/output?attempt=1"),
    (
        "output-found",
        "/runs/{run}/steps/{step}/output",
        "/runs/WAITING/steps/build/output?attempt=1&q=line+2",
    ),
    (
        "conversation",
        "/runs/{run}/steps/{step}/attempts/{attempt}/agent",
        "/runs/AGENT/steps/fix/attempts/2/agent",
    ),
    ("file", "/runs/{run}/files/{digest}/{name}", "/runs/FETCH/files/DIGEST/got.txt?view=text"),
    ("plans", "/plans", "/plans"),
    ("plan", "/plans/{plan}", "/plans/release"),
    ("plan-source", "/plans/{plan}/source", "/plans/release/source"),
    ("plan-broken", "/plans/{plan}", "/plans/broken.md"),
    ("plan-start", "/plans/{plan}/start", "/plans/release/start"),
    ("plan-start-fields", "/plans/{plan}/start", "/plans/report/start"),
    ("goals", "/goals", "/goals"),
    ("goal", "/goals/{goal}", "/goals/mirror"),
    ("calendar", "/goals/{goal}", "/goals/mirror?month=2026-10"),
    ("calendar-hour", "/goals/{goal}", "/goals/often?hour=2026-11-28T08"),
    ("schedule", "/schedule", "/schedule?week=2026-11-23"),
    ("activity", "/activity", "/activity"),
    ("memory", "/memory", "/memory"),
    ("memory-note", "/memory/{item}", "/memory/NOTE"),
    ("memory-megram", "/memory/{item}", "/memory/MEGRAM"),
    ("skills", "/skills", "/skills"),
    ("skill", "/skills/{skill}", "/skills/keybox"),
    ("skill-unlocked", "/skills/{skill}", "/skills/tables"),
    ("connections", "/connections", "/connections"),
    ("secrets", "/secrets", "/secrets"),
    ("audit", "/audit", "/audit"),
    ("audit-record", "/audit/{number}", "/audit/1"),
    ("audit-verify", "/audit/verify", "/audit/verify"),
    ("missing", "/none", "/none"),
    ("missing-run", "/runs/{run}", "/runs/00000000"),
    ("missing-plan", "/plans/{plan}", "/plans/none"),
    ("run-timeline", "/runs/{run}", "/runs/BUSY"),
    ("run-files-shown", "/runs/{run}", "/runs/SHOWN?tab=files"),
    ("file-table", "/runs/{run}/files/{digest}/{name}", "/runs/SHOWN/files/TABLE/prices.csv?view=page"),
    ("file-prose", "/runs/{run}/files/{digest}/{name}", "/runs/SHOWN/files/PROSE/read.md?view=page"),
    ("file-image", "/runs/{run}/files/{digest}/{name}", "/runs/SHOWN/files/IMAGE/point.png?view=page"),
    ("run-logs", "/runs/{run}", "/runs/WAITING?tab=logs&times=elapsed"),
    ("run-logs-step", "/runs/{run}", "/runs/BUSY?tab=logs&step=each"),
    ("run-steps-failed", "/runs/{run}", "/runs/BUSY?state=failed"),
];

/// The pages of a workspace in which nothing has happened.
pub const EMPTY_PAGES: [&str; 14] = [
    "/",
    "/search?q=x",
    "/inbox",
    "/runs",
    "/plans",
    "/goals",
    "/schedule",
    "/activity",
    "/memory",
    "/skills",
    "/connections",
    "/secrets",
    "/audit",
    "/audit/verify",
];

/// The routes that answer with something else than a page.
const NO_PAGES: [&str; 10] = [
    "/events",
    "/review",
    "/review/{*rest}",
    "/metrics",
    "/runs/{run}/steps/{step}/log",
    "/runs/{run}/steps/{step}/log.txt",
    "/runs/{run}/steps/{step}/log/lines",
    "/runs/{run}/steps/{step}/log/search",
    "/runs/{run}/log/lines",
    "/runs/{run}/log/search",
];

const RELEASE: &str = "\
---
kind: plan
id: release
title: Release the price list
steps:
  - id: build
    run: for n in $(seq 40); do echo \"line $n of a log that is long enough to be wrapped on a phone\"; done
    verify:
      - {name: output, run: 'true'}
  - id: agree
    depends_on: [build]
    approve: {message: 'Publish the list?', show: {version: '1.2', hidden: \"a\u{202e}b\"}}
  - {id: publish, depends_on: [agree], allow: {write: [out]}, run: 'true'}
---

# Prices

The `list` of all prices, for *everyone*.
";

const FAILS: &str = "\
---
kind: plan
id: nightly
steps:
  - id: build_the_documentation_of_everything
    run: 'echo error: no such table; exit 3'
  - {id: publish, depends_on: [build_the_documentation_of_everything], run: 'true'}
---
";

/// Twelve items, of which two fail.
const ITEMS: &str = "\
---
kind: plan
id: busy
policy: {on_failure: continue}
steps:
  - id: each
    for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    run: 'test \"$WF_ITEM\" != 3 && test \"$WF_ITEM\" != 7'
---
";

const OFTEN: &str = "\
---
kind: goal
id: often
schedule: '*/10 * * * *'
verify:
  - {name: fresh, run: 'true'}
---
";

const TABLES: &str = "---\nname: tables\ndescription: Writes tables.\n---\n\nUse pipes.\n";

/// A workspace with something for each kind of page, and its server.
pub struct FullWorkspace {
    pub pages: Pages,
    /// The words that stand for what it has.
    subjects: Vec<(&'static str, String)>,
    _sandbox: Sandbox,
}

impl FullWorkspace {
    pub fn open() -> Self {
        let sandbox = connections::place();
        connections::add(&sandbox).exits(0);
        let mut subjects = vec![("AGENT", careful_in(&sandbox))];
        sandbox
            .file("goals/mirror.md", GOAL)
            .file("goals/often.md", OFTEN)
            .file("token.txt", "t0ken-of-the-test");
        std::fs::set_permissions(sandbox.at("token.txt"), std::fs::Permissions::from_mode(0o600)).unwrap();
        sandbox
            .file("skills/tables/SKILL.md", TABLES)
            .file("report.md", REPORT)
            .file("broken.md", "---\nkind: plan\nid: broken\n---\n");
        std::fs::create_dir_all(sandbox.at("out")).unwrap();
        sandbox.wf(&["memory", "add", "The mirror is slow on Sundays", "--kind", "fact"]).exits(0);
        suggest_in(&sandbox);
        for (word, file, plan, code) in [
            ("FETCH", "fetch.md", ROUNDS, 0),
            ("FAILED", "nightly.md", FAILS, 1),
            ("BUSY", "busy.md", ITEMS, 1),
            ("HEALED", "heal.md", HEAL, 0),
            ("EARLIER", "release.md", RELEASE, 5),
            ("WAITING", "release.md", RELEASE, 5),
            ("PAYS", "pay.md", IRREVERSIBLE, 5),
        ] {
            sandbox.file(file, plan);
            sandbox.wf(&["run", file]).exits(code);
            subjects.push((word, last_run(&sandbox)));
        }
        shown_files(&sandbox);
        subjects.push(("SHOWN", last_run(&sandbox)));
        let pages = Pages::open(&sandbox);
        let files = |word: &str| {
            let (_, run) = subjects.iter().find(|(one, _)| *one == word).unwrap();
            pages.ask(&format!("/runs/{run}?tab=files"))
        };
        let (fetched, shown) = (files("FETCH"), files("SHOWN"));
        subjects.push(("DIGEST", linked(&fetched, "/files/")[0].clone()));
        for (word, name) in [("TABLE", "/prices.csv\""), ("PROSE", "/read.md\""), ("IMAGE", "/point.png\"")] {
            let (before, _) = shown.split_once(name).expect("it is listed");
            subjects.push((word, before.rsplit('/').next().unwrap().to_owned()));
        }
        let items = linked(&pages.ask("/memory"), "\"/memory/");
        subjects.push(("NOTE", items.first().unwrap().clone()));
        subjects.push(("MEGRAM", items.last().unwrap().clone()));
        Self { pages, subjects, _sandbox: sandbox }
    }

    /// Returns each kind of page: its name, and its address here.
    pub fn all(&self) -> Vec<(&'static str, String)> {
        let address = |path: &str| {
            self.subjects.iter().fold(path.to_owned(), |path, (word, subject)| path.replace(word, subject))
        };
        PAGES.iter().map(|(name, _, path)| (*name, address(path))).collect()
    }
}

/// Returns the parts of addresses in a page that stand behind a text.
fn linked(page: &str, before: &str) -> Vec<String> {
    page.split(before)
        .skip(1)
        .filter_map(|rest| rest.split(['"', '/', '?']).next())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_page_that_is_routed_is_visited() {
    let source = include_str!("../../crates/web/src/site.rs");
    let routes = source.split(".route(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
    let gets: Vec<&str> = routes
        .filter_map(|rest| rest.split_once("\","))
        .filter(|(_, handler)| handler.trim_start().starts_with("get("))
        .map(|(route, _)| route)
        .collect();
    assert!(gets.len() > 30, "routes are found: {gets:?}");
    let is_known = |route: &str| PAGES.iter().any(|page| page.1 == route) || NO_PAGES.contains(&route);
    let forgotten: Vec<&&str> = gets.iter().filter(|route| !is_known(route)).collect();
    assert!(forgotten.is_empty(), "tests visit no page of {forgotten:?}: add them to PAGES, or to NO_PAGES");
    let gone = PAGES
        .iter()
        .map(|page| page.1)
        .chain(NO_PAGES)
        .filter(|route| *route != "/none" && !gets.contains(route));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&str>::new(), "these routes are gone");
}
