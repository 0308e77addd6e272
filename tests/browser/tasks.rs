//! What people do on the pages all day: each task from the home page, with the number of their acts. The numbers are those of the
//! table in docs/web.md: a page that needs more of them changes the document.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::Child,
};

use serde_json::{Value, json};

use super::{DOCUMENT, driver::Browser, make_key};
use crate::{
    support::{Sandbox, until},
    web::{
        GOAL, Pages,
        exchange::careful_in,
        runs::{BACK, UNDOES},
    },
};

/// A report that fails for the month of its default, and is written for the one after it.
const REPORT: &str = r#"---
kind: plan
id: report
title: Monthly report
params:
  month: {type: string, pattern: '^\d{4}-\d{2}$', default: 2026-10}
steps:
  - id: fetch
    allow: {}
    idempotent: true
    run: |
      seq 300
      test -e "data/$WF_PARAM_MONTH.csv" || { echo "error: no file data/$WF_PARAM_MONTH.csv" >&2; exit 1; }
  - id: write
    depends_on: [fetch]
    allow: {write: [out]}
    run: sort "data/$WF_PARAM_MONTH.csv" >out/report.csv
    artifacts: [out/report.csv]
---
"#;

/// A plan that goes on until it is told to end.
const LONG: &str = "---\nkind: plan\nid: long\nsteps:\n  - {id: work, allow: {}, idempotent: true, \
    run: 'seq 40; while ! test -e go; do sleep 0.05; done; echo it ends'}\n---\n";

/// A plan with a question, and the answers of people: yes or no, a text, some of a list, one of a list.
fn asking(id: &str, answer: &str) -> String {
    let params = "params: {mails: {type: array, default: [{title: offer, confidence: 0.9}, {title: bill, confidence: 0.95}]}}";
    format!(
        "---\nkind: plan\nid: {id}\n{params}\nsteps:\n  - {{id: ask, approve: {{message: 'May {id} go on?'{answer}}}}}\n---\n"
    )
}

/// The plans that ask, with the form of their answers.
const ASKING: [(&str, &str); 5] = [
    ("publish", ""),
    ("refuse", ""),
    ("letter", ", answer: {edit: 'Dear all', max_length: 100}"),
    ("mails", ", answer: {select: '{{ params.mails }}'}"),
    ("colour", ", answer: {choose: [red, blue]}"),
];

/// Somebody at a browser, whose acts are counted: each press of a button or link, and each field that is filled.
struct Visitor<'b> {
    browser: &'b Browser,
    home: String,
    acts: u32,
    counted: Vec<(&'static str, u32)>,
    failed: Vec<&'static str>,
}

impl Visitor<'_> {
    /// Begins a task at the home page, and does it.
    fn does(&mut self, task: &'static str, acts: impl FnOnce(&mut Self)) {
        self.browser.open(&self.home);
        self.acts = 0;
        // The others are done, too: each that cannot be done is seen at once.
        if catch_unwind(AssertUnwindSafe(|| acts(self))).is_err() {
            self.failed.push(task);
        }
        assert_eq!(self.browser.problems(), Vec::<String>::new(), "{task}: the console is empty");
        self.counted.push((task, self.acts));
    }

    /// Waits until something is so on the page; else the page is in the message.
    #[track_caller]
    fn waits(&self, event: &str, mut has_come: impl FnMut() -> bool) {
        for _ in 0..200 {
            if has_come() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("never: {event}, on {}:\n{}", self.browser.address(), self.browser.text("body"));
    }

    /// Sees a text on the page, sooner or later.
    #[track_caller]
    fn sees(&self, text: &str) {
        self.waits(&format!("{text:?} is seen"), || self.browser.text("body").contains(text));
    }

    /// Sees, sooner or later, that a text is no longer there to be pressed.
    #[track_caller]
    fn misses(&self, text: &str) {
        let is_shown = format!(
            "return [...document.querySelectorAll('main button')].some((one) => one.innerText.trim() === {})",
            json!(text)
        );
        self.waits(&format!("{text:?} is gone"), || self.browser.run(&is_shown) == json!(false));
    }

    /// Presses the first button, link or box that is shown in a part of the page and begins with a text.
    #[track_caller]
    fn press_in(&mut self, part: &str, text: &str) {
        let script = format!(
            "const shown = [...document.querySelectorAll({})].flatMap((part) => [...part.querySelectorAll('a, button, summary, label')])\
             .filter((one) => one.checkVisibility() && !one.disabled);\
             const words = (one) => (one.ariaLabel ?? one.innerText).trim();\
             const found = shown.find((one) => words(one) === {text}) ?? shown.find((one) => words(one).startsWith({text}));\
             document.querySelector('[data-pressed]')?.removeAttribute('data-pressed');\
             found?.setAttribute('data-pressed', ''); return found !== undefined;",
            json!(part),
            text = json!(text),
        );
        self.waits(&format!("{text:?} can be pressed"), || self.browser.run(&script) == json!(true));
        self.browser.click("[data-pressed]");
        self.acts += 1;
    }

    #[track_caller]
    fn press(&mut self, text: &str) {
        self.press_in("main, dialog", text);
    }

    /// Goes to a page of the navigation, which the bar of a phone may have behind *More*.
    #[track_caller]
    fn go(&mut self, name: &str) {
        let is_shown = format!(
            "return [...document.querySelectorAll('nav a')].some((one) => one.checkVisibility() && one.innerText.trim().startsWith({}))",
            json!(name)
        );
        if self.browser.run(&is_shown) != json!(true) {
            self.press_in("nav", "More");
            self.press(name);
            return;
        }
        self.press_in("nav", name);
    }

    /// Fills a field with a text.
    #[track_caller]
    fn fill(&mut self, field: &str, text: &str) {
        self.waits(&format!("{field} is shown"), || self.browser.is_shown(field));
        self.browser.run(&format!(
            "const field = document.querySelector({}); field.focus(); field.value = {}; \
             for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {{bubbles: true}}));",
            json!(field),
            json!(text)
        ));
        self.acts += 1;
    }

    /// Presses the key that ends the input of a field.
    fn press_enter(&mut self) {
        self.browser.press_enter();
        self.acts += 1;
    }

    /// Opens a request, changes its answer, and signs it.
    #[track_caller]
    fn answer(&mut self, plan: &str, button: &str, change: impl FnOnce(&mut Self)) {
        self.press(&format!("May {plan} go on?"));
        until("it can sign", || self.browser.is_shown("#answer"));
        change(self);
        self.press_in("#answer", button);
        until("it is asked", || self.browser.is_shown("#sign"));
        self.press_in("#sign", "Sign");
        until("it is recorded", || self.browser.is_shown("[data-answered]"));
    }
}

/// Does the tasks in a workspace with everything that they need, and returns their acts.
fn tasks(width: u32) -> Vec<(&'static str, u32)> {
    let sandbox = Sandbox::new();
    careful_in(&sandbox);
    sandbox.file("report.md", REPORT).file("long.md", LONG).file("goals/mirror.md", GOAL);
    sandbox.file("data/2026-11.csv", "b,1\na,2\n").file("tidy.md", UNDOES).file("back.md", BACK);
    sandbox.file("out/.keep", "");
    sandbox.wf(&["run", "tidy.md", "-q"]).exits(0);
    for (id, answer) in ASKING {
        sandbox.file(&format!("{id}.md"), asking(id, answer));
        sandbox.wf(&["run", &format!("{id}.md"), "-q"]).exits(5);
    }
    let mut killed = start_long(&sandbox);
    killed.kill().unwrap();
    killed.wait().unwrap();
    sandbox.accept();
    sandbox.wf(&["run", "report.md", "-q"]).exits(1);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(width);
    browser.open(&pages.another_link());
    let public = make_key(&browser, &pages);
    sandbox.wf(&["key", "enrol", "ada", &public, "--yes"]).exits(0);
    let mut visitor =
        Visitor { browser: &browser, home: pages.origin(), acts: 0, counted: Vec::new(), failed: Vec::new() };
    look(&mut visitor);
    work(&mut visitor, &sandbox);
    answer(&mut visitor, &sandbox);
    keep(&mut visitor, &sandbox);
    for kind in
        ["run_requested", "run_cancel_requested", "run_resume_requested", "goal_paused", "artifact_read"]
    {
        let record = pages.ask(&format!("/audit?kind={kind}"));
        assert!(record.contains("ada") || record.contains("robin"), "{kind} is recorded: {record}");
    }
    assert_eq!(visitor.failed, Vec::<&str>::new(), "these tasks cannot be done");
    visitor.counted
}

/// Starts the long plan, and waits until it works.
fn start_long(sandbox: &Sandbox) -> Child {
    let child = sandbox.start(&["run", "long.md", "-q"]);
    until("it works", || sandbox.wf(&["logs", "--last", "work"]).out.contains("40"));
    child
}

/// Finds out what is the matter.
fn look(visitor: &mut Visitor<'_>) {
    visitor.does("see what waits for you, and since when", |one| one.sees("May publish go on?"));
    visitor.does("see why the last run failed", |one| one.sees("error: no file data/2026-10.csv"));
    visitor.does("see when a goal is due", |one| one.sees("The mirror is fresh"));
    visitor.does("find a line of its output", |one| {
        one.press("fetch");
        one.fill(".log-search input", "no file");
        one.press_enter();
        one.sees("301");
    });
    visitor.does("see what an agent did, and what it cost", |one| {
        one.go("Runs");
        one.press("careful");
        one.press("Agents");
        one.sees("$0.0");
        one.press("attempt 2");
        one.sees("check said");
    });
    visitor.does("list what failed this week", |one| {
        one.go("Runs");
        one.press("Filter and order");
        one.press("failed");
        one.press("Show");
        one.sees("Monthly report");
    });
    visitor.does("find a run by a word of it", |one| {
        one.fill("header input[type=search]", "2026-10");
        one.press_enter();
        one.sees("Runs");
        one.sees("report");
    });
    visitor.does("see how a plan does: its trend, its slowest step", |one| {
        one.go("Plans");
        one.press("Monthly report");
        one.sees("Slowest steps");
    });
}

/// Starts runs, follows them, and ends them.
fn work(visitor: &mut Visitor<'_>, sandbox: &Sandbox) {
    visitor.does("start a plan", |one| {
        one.go("Plans");
        one.press_in("tr:has(a[href*='long'])", "Run…");
        one.press("Run long");
        one.sees("running");
    });
    visitor.does("follow the output of a run", |one| {
        one.press("long");
        one.press("Logs");
        one.sees("40");
    });
    visitor.does("cancel a run", |one| {
        one.press("long");
        one.press("Cancel");
        one.misses("Cancel");
    });
    visitor.does("resume a run whose process died", |one| {
        one.go("Runs");
        one.press_in("tr:has([data-state=interrupted])", "long");
        one.press("Resume");
        one.misses("Resume");
    });
    sandbox.file("go", "");
    visitor.does("retry what failed", |one| {
        one.press("report");
        one.press("Retry what failed");
        one.sees("retries");
    });
    visitor.does("start a run again with another parameter", |one| {
        one.press("report");
        one.press("Run again");
        one.fill("#p-month", "2026-11");
        one.press("Run Monthly report");
        one.sees("succeeded");
    });
    visitor.does("save a file that a run made", |one| {
        one.press("report");
        one.press("Files");
        one.press("Save");
    });
    visitor.does("compare a run with the one before", |one| {
        one.press("report");
        one.press("Differences from the run before");
        one.sees("2026-10");
    });
    visitor.does("undo a run", |one| {
        one.go("Runs");
        one.press("tidy");
        one.press("Undo");
        one.sees("undoes");
    });
}

/// Answers what runs ask.
fn answer(visitor: &mut Visitor<'_>, sandbox: &Sandbox) {
    visitor.does("approve", |one| one.answer("publish", "Approve", |_| ()));
    visitor.does("decline", |one| one.answer("refuse", "Decline", |_| ()));
    visitor.does("change a draft, and send it", |one| {
        one.answer("letter", "Send", |one| one.fill("#answer textarea", "Dear Ada"));
    });
    visitor.does("leave one out of several", |one| {
        one.answer("mails", "Send", |one| one.press_in("#answer", "bill"));
    });
    visitor.does("choose one of several", |one| {
        one.answer("colour", "Send", |one| one.press_in("#answer", "blue"));
    });
    for (id, _) in ASKING {
        let ended = || {
            let runs: Value = serde_json::from_str(&sandbox.wf(&["runs", "--json"]).out).unwrap();
            let mut of_plan = runs["runs"].as_array().unwrap().iter().filter(|run| run["plan"] == id);
            of_plan.all(|run| !run["ended"].is_null())
        };
        until(&format!("{id} goes on to its end without a terminal"), ended);
    }
}

/// Keeps goals, and who is let in.
fn keep(visitor: &mut Visitor<'_>, sandbox: &Sandbox) {
    visitor.does("pause a goal", |one| {
        one.press("mirror");
        one.press("Pause");
        one.sees("paused");
    });
    visitor.does("let it go on", |one| {
        one.press("mirror");
        one.press("Resume");
        one.sees("Run now");
    });
    sandbox.file("mirror", "");
    visitor.does("see who did what", |one| {
        one.go("Activity");
        one.sees("mirror");
    });
}

/// Checks the acts of each task, or writes them into the document.
#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn each_task_of_a_day_takes_the_acts_that_the_document_says() {
    let [phone, desk] = super::WIDTHS.map(tasks);
    let rows =
        desk.iter().zip(&phone).map(|((task, desk), (_, phone))| format!("| {task} | {desk} | {phone} |\n"));
    let table = format!("{HEAD}{}", rows.collect::<String>());
    if std::env::var_os("WF_UPDATE").is_some() {
        let (before, rest) = DOCUMENT.split_once(HEAD).expect("docs/web.md has the table");
        let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
        std::fs::write("docs/web.md", format!("{before}{table}\n{after}")).unwrap();
    } else {
        assert!(DOCUMENT.contains(&table), "docs/web.md is to have:\n{table}");
    }
}

const HEAD: &str = "| From the home page | acts at a desk | on a phone |\n|---|---|---|\n";
