//! The pages of `wf serve`, as a browser without scripts reads them: real runs, requests and goals.

pub mod answers;
pub mod api;
pub mod autonomy;
mod enrolment;
pub mod every;
pub mod exchange;
mod flood;
mod home;
mod leads;
mod list;
mod live;
mod logins;
pub mod logs;
pub mod plans;
mod remote;
mod rooms;
pub mod run_tabs;
pub mod runs;
mod samples;
mod secrets;
pub mod suggestions;
mod weights;
pub mod workspaces;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::Child,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Sandbox, until};
use wf_base::digest::Sha256Digest;
use wf_sign::{DsseEnvelope, Signer, canonical};

/// A server, and the header of a browser that it let in.
pub struct Pages {
    child: Child,
    host: String,
    cookie: String,
}

impl Pages {
    /// Starts a server at any free port.
    pub fn open(sandbox: &Sandbox) -> Self {
        Self::open_at(sandbox, "127.0.0.1:0")
    }

    /// Starts a server at an address.
    pub fn open_at(sandbox: &Sandbox, address: &str) -> Self {
        Self::open_with(sandbox, &["--listen", address])
    }

    /// Starts a server with some options.
    fn open_with(sandbox: &Sandbox, options: &[&str]) -> Self {
        let mut child = sandbox.start(&[&["serve"], options].concat());
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let (host, path) =
            link.trim().strip_prefix("http://").expect("a link is printed").split_once('/').unwrap();
        let mut pages = Self { child, host: host.to_owned(), cookie: String::new() };
        pages.log_in(&format!("/{path}"));
        pages
    }

    /// Opens a link, and has the access that it gives.
    fn log_in(&mut self, path: &str) {
        let page = self.ask(path);
        assert!(page.starts_with("HTTP/1.1 200 ") && !page.contains("set-cookie"), "{page}");
        let answer = self.own_post("/login", path.strip_prefix("/login?").unwrap());
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("it lets in");
        self.cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    }

    /// Returns the same server for a browser that may only look.
    fn that_may_look(mut self) -> Self {
        let link = self.link("look");
        self.log_in(&link[self.origin().len()..]);
        self
    }

    /// Asks for a page, and returns all that is answered.
    pub fn ask(&self, path: &str) -> String {
        let mut stream = self.connect(path);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap().replace("&#x2f;", "/")
    }

    /// Returns the head of an answer whose body may be no text.
    pub fn head(&self, path: &str) -> String {
        let mut answer = Vec::new();
        self.connect(path).read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head is sent");
        String::from_utf8(answer[..end].to_vec()).unwrap()
    }

    /// Asks for the view of a page as a program does.
    pub fn view(&self, path: &str) -> serde_json::Value {
        let mut answer = String::new();
        let mut stream = self.connect_with(path, "Accept: application/json\r\n");
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: application/json"),
            "{head}"
        );
        serde_json::from_str(body).unwrap()
    }

    fn connect(&self, path: &str) -> TcpStream {
        self.connect_with(path, "")
    }

    fn connect_with(&self, path: &str, header: &str) -> TcpStream {
        let (host, cookie) = (&self.host, &self.cookie);
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}{cookie}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    #[track_caller]
    fn shows(&self, path: &str, texts: &[&str]) {
        let page = self.ask(path);
        assert!(page.starts_with("HTTP/1.1 200 "), "{path}: {page}");
        for text in texts {
            assert!(page.contains(text), "{path} does not show {text:?}: {page}");
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const REFUTED: &str = "\
---
kind: plan
id: prices
title: Prices
steps:
  - id: write
    run: echo \"<b>1.00\u{202e}</b>\" | tee price.txt
    writes: [price.txt]
    verify:
      - {name: sum, run: cat price.txt, expect: {equals: \"2.00\"}}
  - {id: publish, depends_on: [write], run: 'true'}
---
";

const ASKS: &str = "\
---
kind: plan
id: release
steps:
  - id: build
    run: echo done
  - id: agree
    depends_on: [build]
    approve: {message: 'Publish <script>alert(1)</script>?', show: {version: '1.2'}}
---
";

pub const GOAL: &str = "\
---
kind: goal
id: mirror
title: The mirror is fresh
schedule: \"0 7 * * *\"
timezone: Europe/Vienna
verify:
  - {name: fresh, run: test -e mirror}
---
";

/// The id of the latest run.
pub fn last_run(sandbox: &Sandbox) -> String {
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
    shown["run"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn pages_show_runs_requests_and_goals() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/mirror.md", GOAL).file("prices.md", REFUTED).file("release.md", ASKS);
    let pages = Pages::open(&sandbox);
    pages.shows("/", &["Nothing waits for an answer", "The mirror is fresh"]);

    sandbox.wf(&["run", "prices.md"]).exits(1);
    let failed = last_run(&sandbox);
    pages.shows("/runs?state=failed", &[&failed, "<span class=\"badge\" data-state=\"failed\""]);
    let run = format!("/runs/{failed}");
    pages.shows(&run, &["<h1><span>Prices", "/steps/write", "– skipped", "<div class=\"timeline\""]);
    let graph = format!("{run}?tab=graph");
    pages.shows(&graph, &["skipped", "box checked failed", "<svg xmlns"]);
    pages.shows(&format!("/runs/{}", &failed[..8]), &[&failed]);
    let step = pages.ask(&format!("{run}/steps/write"));
    assert!(
        step.contains("&lt;b&gt;1.00") && !step.contains("<b>1.00") && !step.contains('\u{202e}'),
        "{step}"
    );
    assert!(step.contains("2.00") && step.contains("<td>sum</td>"), "{step}");
    pages.shows(
        &graph,
        &[&format!("<a href=\"{run}/steps/write\"><rect class=\"box checked failed critical\"")],
    );
    assert!(!pages.ask(&graph).contains("<style"), "the policy permits no style within");

    sandbox.wf(&["run", "release.md"]).exits(5);
    let waiting = last_run(&sandbox);
    let card = format!("/inbox/{waiting}/1");
    pages.shows("/", &["agree", &card]);
    let page = pages.ask(&card);
    assert!(page.contains("Publish &lt;script&gt;") && !page.contains("<script>alert"), "{page}");
    assert!(page.contains(&format!("wf approve {} agree", &waiting[..8])), "{page}");
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(0);
    pages.shows(
        &card,
        &["data-state=\"approved\"", "by robin", "The run has ended", &format!("href=\"/runs/{waiting}\"")],
    );
    assert!(!pages.ask(&card).contains("id=\"answer\""), "it is answered");
    assert!(pages.ask(&format!("/inbox/{waiting}/9")).starts_with("HTTP/1.1 404 "));
    pages.shows(&format!("/runs/{waiting}?tab=about"), &["Decisions of people", "approved", "by robin"]);

    pages.shows("/goals/mirror", &["goals/mirror.md", "Europe/Vienna", "No slot was decided yet"]);
}

/// A plan whose mirror is dead, with another that is not.
const ROUNDS: &str = "\
---
kind: plan
id: fetch
budget: {max_attempts: 9}
replan: {}
steps:
  - id: fetch
    target: dead
    env: {FROM: dead}
    artifacts: [got.txt]
    run: |
      test \"$FROM\" != dead || { echo 'curl: (7) Connection refused' >&2; exit 7; }
      echo \"$FROM\" > got.txt
    verify: [{name: there, run: test -s got.txt}]
    alternatives:
      - {id: near, target: near, env: {FROM: near}}
---
";

/// Requests of all sorts: a text that may be changed, with characters that a page must not touch, and a list.
const ASKS_MORE: &str = "\
---
kind: plan
id: more
params: {list: {type: array, default: [one, {two: 2}]}}
steps:
  - id: draft
    approve: {message: 'Send it?', answer: {edit: \"a\\tb <i>\", max_length: 100}}
  - id: pick
    approve: {message: 'Which?', answer: {select: '{{ params.list }}'}}
---
";

#[test]
fn pages_show_rounds_artifacts_and_what_may_be_answered() {
    let sandbox = Sandbox::new();
    sandbox
        .file("fetch.md", ROUNDS)
        .file("more.md", ASKS_MORE)
        .file("goals/broken.md", "---\nkind: goal\n---\n");
    let pages = Pages::open(&sandbox);
    sandbox.wf(&["run", "fetch.md"]).exits(0);
    let record: serde_json::Value =
        serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
    let loss = &record["rounds"][0]["loss"];
    let numbers = ["l", "d", "p", "omega"].map(|key| format!("<td>{:.2}</td>", loss[key].as_f64().unwrap()));
    let run = format!("/runs/{}", last_run(&sandbox));
    let rounds = format!("{run}?tab=rounds");
    pages.shows(
        &rounds,
        &["<svg class=\"plot\"", "<text class=\"directive\"", "change_path", &numbers.concat()],
    );
    pages.shows(&format!("{run}?tab=about"), &["2 of 9 attempts"]);
    pages.shows(&format!("{run}?tab=files"), &["<td>got.txt</td>", "<td>5 B</td>", "data-state=\"fresh\""]);
    pages.shows(&format!("{run}/steps/fetch"), &["Attempt 2", "curl: (7)", "exit code 7"]);
    pages.shows(&format!("{run}?state=failed"), &["No step is in this state"]);
    sandbox.wf(&["run", "more.md"]).exits(5);
    let card = format!("/inbox/{}", last_run(&sandbox));
    pages.shows(&format!("{card}/1"), &["a\tb &lt;i&gt;</textarea>", "aria-label=\"What waits\""]);
    pages.shows(&format!("{card}/2"), &["value=\"1\" checked> <span>one</span>", "{&quot;two&quot;:2}"]);
    for path in ["/", "/goals", "/keys"] {
        pages.shows(path, &["<h1"]);
    }
    pages.shows("/goals", &["goals/broken.md", "broken"]);
}

/// Returns the number of the last event in a version of all views, and that of the answers.
fn version_numbers(version: &str) -> (u64, u64) {
    // Behind it is that of the keys.
    let version = version.split('!').next().unwrap_or_default();
    let (events, answers) = version.split_once('.').unwrap_or((version, "0"));
    (events.parse().unwrap(), answers.parse().unwrap())
}

/// Returns the number of the last event in a version of all views.
fn event_number(version: &str) -> u64 {
    version_numbers(version).0
}

#[test]
fn a_browser_hears_at_once_that_something_happened() {
    let sandbox = Sandbox::new();
    sandbox.file("prices.md", REFUTED);
    let pages = Pages::open(&sandbox);
    let mut events = BufReader::new(pages.connect("/events")).lines();
    let mut next = move || loop {
        let line = events.next().expect("the stream goes on").unwrap();
        if let Some(id) = line.strip_prefix("id: ") {
            break event_number(id);
        }
    };
    assert_eq!(next(), 0, "nothing has happened");
    sandbox.wf(&["run", "prices.md"]).exits(1);
    let mut first = next();
    while first == 0 {
        // The state was there before its first event.
        first = next();
    }
    // Who was away learns from the first event of a new stream that the log is longer.
    sandbox.wf(&["run", "prices.md"]).exits(1);
    until("the stream begins with the end of the log", || {
        let mut lines = BufReader::new(pages.connect("/events")).lines().map(Result::unwrap);
        lines.find_map(|line| Some(event_number(line.strip_prefix("id: ")?))).is_some_and(|id| id > first)
    });
}

#[test]
fn the_server_ends_when_it_is_asked_and_says_what_it_cannot_do() {
    let sandbox = Sandbox::new();
    let mut pages = Pages::open(&sandbox);
    let second = sandbox.wf(&["serve", "--listen", &pages.host]);
    second.exits(2).says("cannot listen on").says("--listen localhost:0");
    sandbox.wf(&["serve", "--listen", "0.0.0.0:1"]).exits(2).says("without encryption");
    sandbox.wf(&["serve", "--public-url", "http://wf.example"]).exits(2).says("https://NAME");
    let pid = Pid::from_raw(i32::try_from(pages.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(pages.child.wait().unwrap().code(), Some(0));
}

impl Pages {
    /// Sends a text to a page as a script of it would, or as another site.
    fn post(&self, path: &str, origin: &str, body: &str) -> String {
        let (host, cookie) = (&self.host, &self.cookie);
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n{cookie}"
        );
        stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Returns the beginning of the addresses of pages.
    pub fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Returns a link for another browser.
    pub fn another_link(&self) -> String {
        self.link("start")
    }

    pub fn link(&self, access: &str) -> String {
        let page = self.own_post("/links", &format!("access={access}")).replace("&#x2f;", "/");
        let link = page.split("http://").last().unwrap().split('<').next().unwrap();
        format!("http://{link}")
    }

    /// Does the same as a script of the page.
    pub fn own_post(&self, path: &str, body: &str) -> String {
        self.post(path, &self.origin(), body)
    }

    /// Drafts an answer to a request, and signs it.
    pub fn signed(&self, card: &str, answer: &str, signer: &Signer) -> String {
        let drafted = self.own_post(&format!("{card}/draft"), answer);
        assert!(drafted.starts_with("HTTP/1.1 200 "), "{drafted}");
        let draft: serde_json::Value =
            serde_json::from_str(drafted.split("\r\n\r\n").last().unwrap()).unwrap();
        let text = |key: &str| draft[key].as_str().unwrap();
        let statement: serde_json::Value = serde_json::from_str(text("payload")).unwrap();
        let proposal = Sha256Digest::of_bytes(text("proposal").as_bytes()).to_string();
        assert_eq!(statement["ask"]["proposal"], proposal.as_str(), "it is about what is shown");
        let envelope = DsseEnvelope::seal(text("payload_type"), text("payload").as_bytes(), signer);
        canonical(&serde_json::to_value(&envelope).unwrap()) + "\n"
    }
}
