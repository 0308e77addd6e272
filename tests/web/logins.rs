//! Logins by their names: who asked for what, and who ends whose login.

use std::io::{Read as _, Write as _};

use super::{GOAL, Pages, last_run, samples::compare::fits};
use crate::support::{Sandbox, until};

/// Another browser, or a program, at the same server.
struct Guest {
    host: String,
    /// The header with its key.
    header: String,
}

impl Guest {
    /// Opens a link.
    fn open(pages: &Pages, link: &str) -> Self {
        let key = link.trim().split_once("/login?").unwrap().1;
        let mut guest = Self { host: pages.host.clone(), header: String::new() };
        let answer = guest.send("POST", "/login", key);
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("it lets in");
        guest.header = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
        guest
    }

    /// Sends a request, and returns the answer.
    fn send(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = std::net::TcpStream::connect(&self.host).unwrap();
        let Self { host, header } = self;
        // A program with a key in a header of its own comes from no site.
        let origin =
            if header.starts_with("Auth") { String::new() } else { format!("Origin: http://{host}\r\n") };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\
             Accept: application/json\r\nContent-Type: application/x-www-form-urlencoded\r\n{origin}{header}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Returns the id of its login.
    fn id(&self) -> String {
        let answer = self.send("GET", "/me", "");
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str::<serde_json::Value>(body).unwrap()["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn the_audit_log_names_the_login_that_asked() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/mirror.md", GOAL);
    let mut pages = Pages::open(&sandbox);
    pages.own_post("/goals/mirror/pause", "reason=rain");
    let own = pages.view("/me");
    let (id, name) = (own["id"].as_str().unwrap(), own["logins"][0]["name"].as_str().unwrap());
    assert!(name.contains("· a browser"), "{own}");
    fits("me", "", &own);
    let record = pages.ask("/audit?kind=goal_paused");
    assert!(record.contains(id) && record.contains(name), "{record}");

    let link = sandbox.wf(&["serve", "link", "--may", "operate", "--for", "ada"]).exits(0).out;
    pages.log_in(&link.trim()[pages.origin().len()..]);
    pages.own_post("/goals/mirror/resume", "");
    pages.shows("/audit?kind=goal_resumed", &["ada · a browser"]);
    let renamed = pages.own_post("/me/name", "name=ada+at+home");
    assert!(renamed.starts_with("HTTP/1.1 303 "), "{renamed}");
    pages.own_post("/goals/mirror/pause", "");
    pages.shows("/audit?kind=goal_paused&q=home", &["ada at home"]);
    let refused = pages.own_post("/me/name", "name=+");
    assert!(refused.starts_with("HTTP/1.1 400 ") && refused.contains("at least one character"), "{refused}");
}

/// A public key of a browser.
const KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

#[test]
fn a_browser_asks_for_its_key_to_be_enrolled_and_words_are_compared() {
    let sandbox = Sandbox::new();
    sandbox.wf(&["key", "enrol", "phone"]).exits(2).says("no browser asks");
    let pages = Pages::open(&sandbox);
    let refused = pages.own_post("/keys", "key=lusab");
    assert!(refused.starts_with("HTTP/1.1 4"), "{refused}");
    for _ in 0..2 {
        let asked = pages.own_post("/keys", &format!("key={KEY}"));
        assert!(asked.starts_with("HTTP/1.1 303 ") && asked.contains("location: /keys"), "{asked}");
    }
    let view = pages.view("/keys");
    fits("key", "", &view);
    assert_eq!(view["asked"].as_array().unwrap().len(), 1, "{view}");
    let words = view["asked"][0]["words"].as_str().unwrap();
    let digest = view["asked"][0]["digest"].as_str().unwrap();
    pages.shows("/keys", &[words, digest, "· a browser"]);
    let places = |sentence: &str| {
        let known = pages.view(&format!("/keys?key={KEY}"))["known"].clone();
        assert_eq!(
            (&known["words"], &known["digest"]),
            (&view["asked"][0]["words"], &view["asked"][0]["digest"])
        );
        let place = known["places"][0].as_str().unwrap();
        assert!(place.starts_with(sentence), "{sentence}: {known}");
        pages.shows(&format!("/keys?key={KEY}"), &[sentence]);
    };
    places("Not enrolled here.");
    assert!(pages.view("/keys?key=none")["known"].is_null());
    pages.shows("/audit?kind=key_requested", &["· a browser"]);

    sandbox.wf(&["key", "enrol", "phone"]).exits(2).says("not a terminal");
    let other = "lusab-babad-gutih-tugad-mapih-hofun";
    sandbox
        .wf(&["key", "enrol", "phone", other, "--yes"])
        .exits(2)
        .says("no browser asks for a key with these");
    sandbox.wf(&["key", "enrol", "phone", words]).exits(2).says("not a terminal");
    let enrolled = sandbox.wf(&["key", "enrol", "phone", &words.replace('-', " ").to_uppercase(), "--yes"]);
    let enrolled = enrolled.exits(0).says(KEY).says(words);
    // Whoever compares the words reads who asked, when, and what that login may do.
    enrolled.says("login ").says(", which may start, asked at ").says(" UTC, ").says(" ago; its name: “");
    places("Enrolled as phone here.");
    assert!(sandbox.read("approvers.yaml").contains(KEY));
    assert_eq!(pages.view("/keys")["asked"].as_array().unwrap().len(), 0);
    sandbox.wf(&["key", "enrol", "tablet", words, "--yes"]).exits(2).says("no browser asks");
    sandbox.wf(&["key", "revoke", "phone"]).exits(0);
    places("Revoked here: it was phone");
    sandbox.file("approvers.yaml", "approvers: 3\n");
    places("Unknown here");
}

#[test]
fn a_key_stays_with_the_login_that_asked_first_and_ends_with_it() {
    let sandbox = Sandbox::new();
    let pages = Pages::open(&sandbox);
    let guest = |name: &str| {
        let link = sandbox.wf(&["serve", "link", "--may", "look", "--for", name]).exits(0).out;
        Guest::open(&pages, &link)
    };
    let (first, other) = (guest("ada"), guest("eve” (login 0, which may start)"));
    let ask = |by: &Guest| by.send("POST", "/keys", &format!("key={KEY}"));
    let asked = || pages.view("/keys")["asked"].as_array().unwrap().clone();
    assert!(ask(&first).starts_with("HTTP/1.1 303 "));
    let taken = ask(&other);
    assert!(taken.starts_with("HTTP/1.1 409 ") && taken.contains("another login asks"), "{taken}");
    assert_eq!(asked()[0]["name"], "ada · a browser");
    let before = sandbox.wf(&["key", "enrol", "phone", asked()[0]["words"].as_str().unwrap()]).exits(2);
    before.says("its name: “ada · a browser”");
    // Its request ends with it, whoever ended it, and another login may ask.
    first.send("POST", "/logout", "");
    assert!(asked().is_empty());
    assert!(ask(&other).starts_with("HTTP/1.1 303 "));
    let words = asked()[0]["words"].as_str().unwrap().to_owned();
    sandbox
        .wf(&["key", "enrol", "phone", &words])
        .exits(2)
        .says("“eve' (login 0, which may start) · a browser”");
    let table = sandbox.read(".wf/logins.json");
    let mut table: serde_json::Value = serde_json::from_str(&table).unwrap();
    let logins = table["browsers"].as_object_mut().unwrap();
    logins.retain(|_, login| !login["name"].as_str().unwrap().starts_with("eve"));
    sandbox.file(".wf/logins.json", table.to_string());
    assert!(asked().is_empty());
    sandbox.wf(&["key", "enrol", "phone", &words, "--yes"]).exits(2).says("no browser asks");
}

#[test]
fn a_pipe_in_the_place_of_the_asked_keys_stops_nobody() {
    let sandbox = Sandbox::new();
    let pages = Pages::open(&sandbox);
    for name in ["enrolments.json", "enrolments.lock"] {
        let _ = std::fs::remove_file(sandbox.at(&format!(".wf/{name}")));
        let path = sandbox.at(&format!(".wf/{name}"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let asked = pages.own_post("/keys", &format!("key={KEY}"));
        assert!(asked.starts_with("HTTP/1.1 ") && asked.contains("a pipe"), "{name}: {asked}");
        std::fs::remove_file(&path).unwrap();
    }
    sandbox.file(".wf/enrolments.json", " ".repeat(1024 * 1024 + 1));
    sandbox.wf(&["key", "enrol", "phone"]).exits(6).says("is larger than");
    // The logins are another such file: nobody is let in by a pipe, and nobody waits for it.
    std::fs::remove_file(sandbox.at(".wf/logins.json")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, sandbox.at(".wf/logins.json"), rustix::fs::Mode::RWXU).unwrap();
    assert!(pages.ask("/runs").starts_with("HTTP/1.1 401 "));
}

#[test]
fn a_link_is_one_to_the_server_that_runs() {
    let sandbox = Sandbox::new();
    let first = Pages::open(&sandbox);
    let listen = first.origin().strip_prefix("http://").unwrap().to_owned();
    sandbox.wf(&["serve", "link", "--qr"]).exits(2).says("a phone cannot reach these pages");
    drop(first);
    sandbox.wf(&["serve", "link"]).exits(6).says("no server of this workspace answers");
    // Its proxy is out of reach from here.
    let public = ["serve", "--listen", &listen, "--public-url", "https://desk.example.org"];
    let mut server = sandbox.start(&public);
    let mut link = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut link)
        .unwrap();
    let code = sandbox.wf(&["serve", "link", "--qr"]).exits(0).out;
    assert!(code.contains("▄▄▄▄▄") && code.contains("\nhttps://desk.example.org/login?key="), "{code}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_login_ends_others_with_no_more_access_than_its_own() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/mirror.md", GOAL);
    let starter = Pages::open(&sandbox);
    let starter_id = starter.view("/me")["id"].as_str().unwrap().to_owned();
    let guest = |access: &str, name: &str| {
        let link = sandbox.wf(&["serve", "link", "--may", access, "--for", name]).exits(0).out;
        Guest::open(&starter, &link)
    };
    let (operator, looker) = (guest("operate", "bob"), guest("look", "eve"));
    let end = |by: &Guest, id: &str| by.send("POST", &format!("/logins/{id}/end"), "");
    assert!(end(&operator, &starter_id).starts_with("HTTP/1.1 403 "), "it may do more");
    assert!(end(&looker, &operator.id()).starts_with("HTTP/1.1 403 "), "it may only look");
    let ended = looker.id();
    assert!(end(&operator, &ended).starts_with("HTTP/1.1 303 "));
    assert!(looker.send("GET", "/me", "").starts_with("HTTP/1.1 401 "));
    assert!(end(&operator, &ended).starts_with("HTTP/1.1 404 "), "it has ended already");
    starter.shows("/audit?kind=login_ended", &["bob", &ended]);
}

#[test]
fn a_login_that_ends_reads_no_output_any_more() {
    let sandbox = Sandbox::new();
    let step = "for n in $(seq 600); do echo tick $n; sleep 0.1; done";
    sandbox.file(
        "tick.md",
        format!("---\nkind: plan\nid: tick\nsteps:\n  - {{id: work, run: '{step}'}}\n---\n"),
    );
    let pages = Pages::open(&sandbox);
    let mut run = sandbox.start(&["run", "tick.md"]);
    until("the step prints", || sandbox.wf(&["logs", "--last"]).out.contains("tick 2"));
    let link = sandbox.wf(&["serve", "link", "--may", "look"]).exits(0).out;
    let looker = Guest::open(&pages, &link);
    let (id, address) = (looker.id(), format!("/runs/{}/steps/work/log?attempt=1", last_run(&sandbox)));
    let read = std::thread::scope(|scope| {
        let stream = scope.spawn(|| looker.send("GET", &address, ""));
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(pages.own_post(&format!("/logins/{id}/end"), "").starts_with("HTTP/1.1 303 "));
        stream.join().unwrap()
    });
    assert!(read.contains("tick 2") && !read.contains("tick 600") && !read.contains("event: end"), "{read}");
    sandbox.wf(&["cancel", "--last"]);
    let _ = run.wait();
}

#[test]
fn a_program_has_a_login_of_its_own_and_needs_no_origin() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/mirror.md", GOAL);
    let pages = Pages::open(&sandbox);
    let printed =
        sandbox.wf(&["serve", "link", "--token", "--may", "operate", "--for", "deploy bot"]).exits(0).out;
    let token: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(token["url"], format!("http://{}", pages.host), "{printed}");
    let bearer =
        |key: &str| Guest { host: pages.host.clone(), header: format!("Authorization: Bearer {key}\r\n") };
    let bot = bearer(token["token"].as_str().unwrap());
    let paused = bot.send("POST", "/goals/mirror/pause", "reason=rain");
    assert!(paused.starts_with("HTTP/1.1 303 "), "{paused}");
    pages.shows("/audit?kind=goal_paused", &["deploy bot", &bot.id()]);
    assert!(bot.send("POST", "/plans/x/start", "").starts_with("HTTP/1.1 403 "), "it may only operate");
    assert!(bearer("0").send("GET", "/", "").starts_with("HTTP/1.1 401 "));
    assert!(!sandbox.read(".wf/logins.json").contains(token["token"].as_str().unwrap()));
}
