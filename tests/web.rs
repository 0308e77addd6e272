//! The pages of `wf serve`, as a browser without scripts reads them: real runs, requests and goals.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Child;
use std::time::Duration;

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
        let mut child = sandbox.start(&["serve", "--listen", address]);
        let mut link = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let (host, path) =
            link.trim().strip_prefix("http://").expect("a link is printed").split_once('/').unwrap();
        let mut pages = Self { child, host: host.to_owned(), cookie: String::new() };
        let answer = pages.ask(&format!("/{path}"));
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("it lets in");
        pages.cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
        pages
    }

    /// Asks for a page, and returns all that is answered.
    fn ask(&self, path: &str) -> String {
        let mut stream = self.connect(path);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap().replace("&#x2f;", "/")
    }

    fn connect(&self, path: &str) -> TcpStream {
        let (host, cookie) = (&self.host, &self.cookie);
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\r\n");
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

const GOAL: &str = "\
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
    pages.shows("/", &["Nothing waits for an answer", "There are no runs yet", "The mirror is fresh"]);

    sandbox.wf(&["run", "prices.md"]).exits(1);
    let failed = last_run(&sandbox);
    pages.shows("/runs?state=failed", &[&failed, "<span class=\"badge failed\">failed</span>"]);
    let run = format!("/runs/{failed}");
    pages.shows(&run, &["prices", "/steps/write", "skipped", &format!("{run}/graph.svg")]);
    pages.shows(&format!("/runs/{}", &failed[..8]), &[&failed]);
    let step = pages.ask(&format!("{run}/steps/write"));
    assert!(
        step.contains("&lt;b&gt;1.00") && !step.contains("<b>1.00") && !step.contains('\u{202e}'),
        "{step}"
    );
    assert!(step.contains("2.00") && step.contains("<td>sum</td>"), "{step}");
    let picture = pages.ask(&format!("{run}/graph.svg"));
    assert!(
        picture.contains("content-type: image/svg+xml") && picture.contains("box checked failed"),
        "{picture}"
    );
    assert!(picture.contains("style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"), "{picture}");

    sandbox.wf(&["run", "release.md"]).exits(5);
    let waiting = last_run(&sandbox);
    let card = format!("/review/{waiting}/1");
    pages.shows("/", &["agree", &card]);
    let page = pages.ask(&card);
    assert!(page.contains("Publish &lt;script&gt;") && !page.contains("<script>alert"), "{page}");
    assert!(page.contains(&format!("wf approve {} agree", &waiting[..8])), "{page}");
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(0);
    assert!(pages.ask(&card).starts_with("HTTP/1.1 404 "), "it is answered");
    pages.shows(&format!("/runs/{waiting}"), &["Decisions of people", "approved", "by robin"]);

    pages.shows("/goals/mirror", &["goals/mirror.md", "Europe/Vienna", "No slot was decided yet"]);
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
            break id.parse::<u64>().unwrap();
        }
    };
    assert_eq!(next(), 0, "nothing has happened");
    sandbox.wf(&["run", "prices.md"]).exits(1);
    let first = next();
    assert!(first > 0);
    // Who was away learns from the first event of a new stream that the log is longer.
    sandbox.wf(&["run", "prices.md"]).exits(1);
    until("the stream begins with the end of the log", || {
        let mut lines = BufReader::new(pages.connect("/events")).lines().map(Result::unwrap);
        lines.find_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok()).is_some_and(|id| id > first)
    });
}

#[test]
fn the_server_ends_when_it_is_asked_and_says_what_it_cannot_do() {
    let sandbox = Sandbox::new();
    let mut pages = Pages::open(&sandbox);
    let second = sandbox.wf(&["serve", "--listen", &pages.host]);
    second.exits(2).says("cannot listen on").says("--listen 127.0.0.1:0");
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
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nConnection: close\r\n{cookie}"
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
        let page = self.own_post("/links", "").replace("&#x2f;", "/");
        let link = page.split("http://").last().unwrap().split('<').next().unwrap();
        format!("http://{link}")
    }

    /// Does the same as a script of the page.
    fn own_post(&self, path: &str, body: &str) -> String {
        self.post(path, &self.origin(), body)
    }

    /// Drafts an answer to a request, and signs it.
    fn signed(&self, card: &str, answer: &str, signer: &Signer) -> String {
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

const CHOOSES: &str = "\
---
kind: plan
id: choose
steps:
  - id: which
    approve: {message: 'Which one?', answer: {choose: [red, blue]}}
  - {id: tell, depends_on: [which], env: {WORD: '{{ steps.which.outputs.choice }}'}, run: 'echo \"$WORD\" > told.txt'}
---
";

const IRREVERSIBLE: &str = "\
---
kind: plan
id: pay
secrets: {TOKEN: {from: file, path: token.txt}}
steps:
  - id: agree
    approve: {message: 'Pay?'}
  - id: pay
    depends_on: [agree]
    allow: {net: true}
    env: {TOKEN: '{{ secrets.TOKEN }}'}
    run: 'true'
---
";

#[test]
fn an_answer_counts_by_its_signature_alone() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["run", "release.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let card = format!("/review/{}/1", last_run(&sandbox));
    let answer = format!("{card}/answer");
    let yes = pages.signed(&card, r#"{"yes": true, "reason": "looks good"}"#, &phone);
    let refused = |body: &str, why: &str| {
        let answered = pages.own_post(&answer, body);
        assert!(answered.starts_with("HTTP/1.1 409 ") && answered.contains(why), "{why}: {answered}");
    };
    refused(&yes, "signature rejected");
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    refused("{}\n", "error:");
    let other = pages.signed(&card, r#"{"yes": false}"#, &phone);
    let forged: serde_json::Value = serde_json::from_str(&yes).unwrap();
    let mut altered: serde_json::Value = serde_json::from_str(&other).unwrap();
    altered["signatures"] = forged["signatures"].clone();
    refused(&(canonical(&altered) + "\n"), "signature rejected");
    let foreign = pages.post(&answer, "https://evil.example", &yes);
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    let recorded = pages.own_post(&answer, &yes);
    assert!(recorded.starts_with("HTTP/1.1 200 "), "{recorded}");
    sandbox.wf(&["resume", "--last"]).exits(0);
    refused(&yes, "does not wait for an answer");
    pages.shows(&format!("/runs/{}", last_run(&sandbox)), &["approved", "by phone"]);

    // An answer to one run is none to another.
    sandbox.wf(&["run", "release.md"]).exits(5);
    let second = format!("/review/{}/1/answer", last_run(&sandbox));
    let replayed = pages.own_post(&second, &yes);
    assert!(replayed.starts_with("HTTP/1.1 409 ") && replayed.contains("signature rejected"), "{replayed}");
}

#[test]
fn an_answer_says_what_was_chosen_and_a_no_ends_the_run() {
    let sandbox = Sandbox::new();
    sandbox.file("choose.md", CHOOSES).file("release.md", ASKS);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    sandbox.wf(&["run", "choose.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let card = format!("/review/{}/1", last_run(&sandbox));
    pages.shows(&card, &["value=\"red\"", "value=\"blue\""]);
    for wrong in [
        r#"{"yes": true, "choice": "green"}"#,
        r#"{"yes": true}"#,
        r#"{"yes": true, "selected": [1]}"#,
        "yes",
    ] {
        let drafted = pages.own_post(&format!("{card}/draft"), wrong);
        assert!(drafted.starts_with("HTTP/1.1 4"), "{wrong}: {drafted}");
    }
    let blue = pages.signed(&card, r#"{"yes": true, "choice": "blue"}"#, &phone);
    assert!(pages.own_post(&format!("{card}/answer"), &blue).starts_with("HTTP/1.1 200 "));
    sandbox.wf(&["resume", "--last"]).exits(0);
    assert_eq!(sandbox.read("told.txt"), "blue\n");

    sandbox.wf(&["run", "release.md"]).exits(5);
    let card = format!("/review/{}/1", last_run(&sandbox));
    let no = pages.signed(&card, r#"{"yes": false, "reason": "not today"}"#, &phone);
    assert!(pages.own_post(&format!("{card}/answer"), &no).starts_with("HTTP/1.1 200 "));
    sandbox.wf(&["resume", "--last"]).exits(1).says("not today");
}

#[test]
fn what_cannot_be_taken_back_is_not_approved_in_a_browser() {
    let sandbox = Sandbox::new();
    sandbox.file("pay.md", IRREVERSIBLE).file("token.txt", "t0ken-of-the-test");
    std::fs::set_permissions(sandbox.at("token.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.wf(&["run", "pay.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let card = format!("/review/{}/1", last_run(&sandbox));
    pages.shows(&card, &["irreversible", "approved in a terminal"]);
    let drafted = pages.own_post(&format!("{card}/draft"), r#"{"yes": true}"#);
    assert!(drafted.starts_with("HTTP/1.1 409 ") && drafted.contains("wf approve"), "{drafted}");
}
