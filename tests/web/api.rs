//! The interface for programs: what a program reads, starts and answers with a key of its own, and how it is refused.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use super::{ASKS, Pages};
use crate::{
    docs::fence,
    support::{Sandbox, until},
};
use wf_base::digest::Sha256Digest;
use wf_sign::{DsseEnvelope, Signer, canonical};

/// A plan that a login starts: its steps write only what they declare.
pub const REPORT: &str = "\
---
kind: plan
id: report
title: The report
params:
  region: {type: string, pattern: '^[a-z]+$', description: Where it is from}
  copies: {type: integer, minimum: 1, default: 2}
steps:
  - id: write
    allow: {write: [out]}
    artifacts: [out/report]
    run: 'mkdir -p out; for n in 1 2 3; do echo \"$WF_PARAM_REGION $n\"; done | tee out/report'
---
";

/// A plan whose step runs until it is cancelled.
const WAITS: &str = "---\nkind: plan\nid: waits\nsteps:\n  - {id: wait, allow: {write: [out]}, run: 'echo begun; sleep 60'}\n---\n";

/// A program with a key.
pub struct Program {
    host: String,
    key: String,
}

/// The answer to a program.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// Reads its body.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert!(self.head.contains("content-type: application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// Asserts its status, and reads its body.
    #[track_caller]
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// Asserts that it is a refusal with a word.
    #[track_caller]
    fn refuses(&self, status: u16, code: &str) -> Value {
        let error = self.is(status)["error"].take();
        assert_eq!(error["code"], code, "{self:?}");
        assert!(error["message"].as_str().is_some_and(|message| message.len() > 5), "{self:?}");
        error
    }
}

impl Program {
    /// Gives a program a key with an access.
    pub fn new(pages: &Pages, sandbox: &Sandbox, access: &str) -> Self {
        let printed = sandbox.wf(&["serve", "link", "--token", "--may", access, "--for", "bot"]).exits(0).out;
        let token: Value = serde_json::from_str(&printed).unwrap();
        Self { host: pages.host.clone(), key: token["token"].as_str().unwrap().to_owned() }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    fn open(&self, method: &str, path: &str, headers: &str, body: &str) -> std::net::TcpStream {
        let mut stream = std::net::TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_mins(1))).unwrap();
        let Self { host, key } = self;
        let key = if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
        let request = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n{key}{headers}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Sends a request, and returns the answer.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut answer = String::new();
        self.open(method, path, headers, body).read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer { status: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "Content-Type: application/json\r\n", &body.to_string())
    }

    /// Waits until a run has ended, and returns it.
    fn ended(&self, run: &str) -> Value {
        let mut last = Value::Null;
        until("the run has ended", || {
            last = self.get(&format!("/runs/{run}")).is(200);
            !last["ended"].is_null()
        });
        last
    }

    /// Follows events: name, id and data of each.
    fn events(&self, path: &str, headers: &str) -> impl Iterator<Item = [String; 3]> + use<> {
        super::runs::events(self.open("GET", path, headers, ""))
    }
}

#[test]
fn a_key_whose_run_was_pruned_starts_no_other_run() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT).file("wf.yaml", "retention: {max_runs: 1}\n");
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let start = |key: &str, region: &str| {
        let body = json!({"params": {"region": region}}).to_string();
        bot.send("POST", "/plans/report/runs", &format!("Idempotency-Key: {key}\r\n"), &body)
    };
    let first = start("the first report", "eu").is(201)["run"].as_str().unwrap().to_owned();
    bot.ended(&first);
    let second = start("the second report", "eu").is(201)["run"].as_str().unwrap().to_owned();
    bot.ended(&second);
    until("the first is pruned", || bot.get(&format!("/runs/{first}")).status == 404);
    for region in ["eu", "us"] {
        let error = start("the first report", region).refuses(409, "outdated");
        assert!(error["message"].as_str().unwrap().contains("retention has removed"), "{error}");
    }
    let heard: Vec<_> = bot.events("/events?after=0", "").take(2).collect();
    let [name, id, reason] = &heard[0];
    assert!(name == "lost" && id == "0" && reason.contains("retention removed"), "{heard:?}");
    assert!(heard[1][2].contains(&second), "{heard:?}");
}

#[test]
fn an_item_is_named_by_its_key_or_its_number() {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: each\nsteps:\n  - {id: probe, for_each: [b, '0'], key: item, run: 'echo is {{ item }}'}\n---\n";
    sandbox.file("each.md", plan.replace("'echo is {{ item }}'", "'echo is $WF_ITEM'"));
    sandbox.wf(&["run", "each.md"]).exits(0);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "look");
    let run = super::last_run(&sandbox);
    // A key has precedence over a number.
    for (name, text) in [("probe%5Bb%5D", "is b"), ("probe%5B0%5D", "is 0"), ("probe[1]", "is 0")] {
        let lines = bot.get(&format!("/runs/{run}/steps/{name}/log")).is(200);
        assert_eq!(lines["lines"][0]["text"], text, "{name}");
    }
    bot.get(&format!("/runs/{run}/steps/probe%5Bc%5D/log")).refuses(404, "not_found");
}

#[test]
fn a_program_starts_a_plan_once_and_reads_what_became_of_it() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    assert_eq!(bot.get("/runs").is(200), json!({"runs": [], "next": null}));
    assert_eq!(bot.get("/plans").is(200)["plans"][0]["name"], "report");
    let plan = bot.get("/plans/report").is(200);
    assert_eq!(plan["params"]["required"], json!(["region"]));
    assert_eq!(
        plan["params"]["properties"]["copies"],
        json!({"type": "integer", "minimum": 1, "default": 2})
    );
    assert_eq!((&plan["risk"]["level"], &plan["signature_reason"]), (&json!("medium"), &Value::Null));

    let start = |key: &str, body: &Value| {
        bot.send("POST", "/plans/report/runs", &format!("Idempotency-Key: {key}\r\n"), &body.to_string())
    };
    let body = json!({"params": {"region": "eu"}, "digest": plan["digest"]});
    let started = start("report of Monday", &body);
    let run = started.is(201)["run"].as_str().unwrap().to_owned();
    assert!(started.head.contains(&format!("location: /api/v1/runs/{run}")), "{started:?}");
    assert_eq!(start("report of Monday", &body).is(201)["run"], run, "it is sent again");
    start("report of Monday", &json!({"params": {"region": "us"}})).refuses(409, "outdated");
    assert_ne!(start("report of Tuesday", &body).is(201)["run"], run);

    let ended = bot.ended(&run);
    assert_eq!(
        (&ended["state"], &ended["plan"], &ended["title"]),
        (&json!("succeeded"), &json!("report"), &json!("The report"))
    );
    assert_eq!(ended["params"], json!({"region": "eu", "copies": 2}));
    let step = &ended["steps"][0];
    assert_eq!(
        (&step["step"], &step["state"], &step["attempts"][0]["exit_code"]),
        (&json!("write"), &json!("succeeded"), &json!(0))
    );
    let lines = bot.get(&format!("/runs/{run}/steps/write/log?from=2&count=1")).is(200);
    assert_eq!(
        (&lines["first"], &lines["total"], &lines["lines"][0]["text"]),
        (&json!(2), &json!(3), &json!("eu 2"))
    );
    assert_eq!(bot.get(&format!("/runs/{run}/steps/write/log.txt?attempt=1")).body.matches("eu ").count(), 3);
    let artifact = bot.get(&format!("/runs/{run}/artifacts")).is(200)["artifacts"][0].take();
    assert_eq!((&artifact["path"], &artifact["size"]), (&json!("out/report"), &json!(15)));
    let saved = bot.get(&format!("/runs/{run}/artifacts/{}/report", artifact["digest"].as_str().unwrap()));
    assert_eq!((saved.status, saved.body.as_str()), (200, "eu 1\neu 2\neu 3\n"));
    pages.shows("/audit?kind=run_requested", &["bot", &run]);
    pages.shows("/audit?kind=artifact_read", &["bot"]);

    let first = bot.get("/runs?limit=1").is(200);
    let next = first["next"].as_str().unwrap();
    let second = bot.get(&format!("/runs?limit=1&before={next}&plan=report&state=succeeded")).is(200);
    assert_eq!((&second["runs"][0]["id"], &second["next"]), (&json!(run), &Value::Null));
    let text = bot.send("GET", &format!("/runs/{run}"), "Accept: text/plain\r\n", "");
    assert_eq!(text.body, sandbox.wf(&["show", &run]).exits(0).out, "it is what a terminal shows");
}

#[test]
fn a_program_cancels_and_repeats_a_run() {
    let sandbox = Sandbox::new();
    sandbox.file("waits.md", WAITS);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let run = bot.post("/plans/waits/runs", &json!({})).is(201)["run"].as_str().unwrap().to_owned();
    let log = format!("/runs/{run}/steps/wait/log.txt?follow=true");
    until("the step has begun", || bot.get(&format!("/runs/{run}/steps/wait/log")).body.contains("begun"));
    let followed = std::thread::scope(|scope| {
        let follower = scope.spawn(|| bot.get(&log));
        bot.post(&format!("/runs/{}/cancel", &run[..8]), &json!({})).is(200);
        follower.join().unwrap()
    });
    assert!(followed.body.contains("begun"), "it ends with the attempt: {followed:?}");
    assert_eq!(bot.ended(&run)["state"], "cancelled");
    bot.post(&format!("/runs/{run}/cancel"), &json!({})).refuses(409, "conflict");
    let again =
        bot.post(&format!("/runs/{run}/retry"), &json!({})).is(201)["run"].as_str().unwrap().to_owned();
    assert_eq!(bot.get(&format!("/runs/{again}")).is(200)["retry_of"], run);
    bot.post(&format!("/runs/{again}/cancel"), &json!({})).is(200);
    assert_eq!(bot.ended(&again)["state"], "cancelled");
}

#[test]
fn events_go_on_where_a_reader_left() {
    let sandbox = Sandbox::new();
    sandbox.file("report.md", REPORT);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let run = bot.post("/plans/report/runs", &json!({"params": {"region": "eu"}})).is(201)["run"].clone();
    let run = run.as_str().unwrap().to_owned();
    let of_run = format!("/events?run={run}");
    let mut heard = Vec::new();
    for event in bot.events(&of_run, "") {
        let is_last = event[0] == "run_ended";
        heard.push(event);
        if is_last {
            break;
        }
    }
    let first: Value = serde_json::from_str(&heard[0][2]).unwrap();
    assert_eq!((&first["run"], &first["plan"], &first["v"]), (&json!(run), &json!("report"), &json!(1)));
    assert!(heard.len() > 5, "{heard:?}");
    let middle = heard.len() / 2;
    let later: Vec<_> = bot
        .events("/events", &format!("Last-Event-ID: {}\r\n", heard[middle][1]))
        .take(heard.len() - middle - 1)
        .collect();
    assert_eq!(later, heard[middle + 1..], "nothing is missing, and nothing comes twice");
    // A reader that was not there before hears what comes from now on.
    let mut news = bot.events("/events", "");
    sandbox.wf(&["run", "report.md", "-p", "region=us"]).exits(0);
    let next: Value = serde_json::from_str(&news.next().unwrap()[2]).unwrap();
    assert_ne!(next["run"], run);
    let (number, digest) = heard[middle][1].split_once('-').unwrap();
    let other: String = digest.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect();
    let [name, _, reason] =
        bot.events("/events", &format!("Last-Event-ID: {number}-{other}\r\n")).next().unwrap();
    assert!(name == "lost" && reason.contains("restored"), "{name}: {reason}");
    bot.get("/events?after=x").refuses(400, "bad_request");
    bot.get("/events?run=ffff").refuses(404, "not_found");
}

#[test]
fn an_answer_is_signed_by_its_author_and_sent_by_a_program() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    sandbox.wf(&["run", "release.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "look");
    let request = bot.get("/requests").is(200)["requests"][0].take();
    assert_eq!(
        (&request["name"], &request["is_question"], &request["is_open"]),
        (&json!("agree"), &json!(false), &json!(true))
    );
    let run = request["run"].as_str().unwrap();
    assert_eq!(bot.get(&format!("/runs/{run}")).is(200)["requests"][0]["number"], 1);
    let place = format!("/requests/{}/1", &run[..8]);
    let draft = bot.post(&format!("{place}/statement"), &json!({"yes": true, "reason": "good"})).is(200);
    let text = |key: &str| draft[key].as_str().unwrap();
    let statement: Value = serde_json::from_str(text("payload")).unwrap();
    let proposal = Sha256Digest::of_bytes(text("proposal").as_bytes()).to_string();
    assert_eq!(statement["ask"]["proposal"], proposal.as_str());
    let sign = |signer: &Signer| {
        let envelope = DsseEnvelope::seal(text("payload_type"), text("payload").as_bytes(), signer);
        json!({"token": canonical(&serde_json::to_value(&envelope).unwrap()) + "\n"})
    };
    let stranger = sign(&Signer::from_bytes(&[8; 32]));
    bot.post(&format!("{place}/answer"), &stranger).refuses(409, "signature_required");
    let recorded = bot.post(&format!("{place}/answer"), &sign(&phone)).is(200);
    assert_eq!(recorded["run_continues"], true);
    assert_eq!(bot.ended(run)["state"], "succeeded");
    let decided = bot.get(&place).is(200);
    assert_eq!((&decided["decision"], &decided["people"]), (&json!("approved"), &json!(["phone"])));
    bot.get(&format!("/requests/{run}/9")).refuses(404, "not_found");
}

#[test]
fn a_risk_beyond_every_key_is_signed_for() {
    let sandbox = Sandbox::new();
    sandbox.file("burn.md", "---\nkind: plan\nid: burn\nsteps:\n  - {id: burn, run: touch burnt}\n---\n");
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    assert_eq!(bot.get("/plans/burn").is(200)["risk"]["level"], "high");
    let draft = bot.post("/plans/burn/statement", &json!({})).is(200);
    let text = |key: &str| draft[key].as_str().unwrap();
    assert!(text("review").contains("touch burnt"), "{draft}");
    let envelope = DsseEnvelope::seal(text("payload_type"), text("payload").as_bytes(), &phone);
    let body = json!({"token": canonical(&serde_json::to_value(&envelope).unwrap()) + "\n"});
    bot.post("/plans/burn/runs", &body).refuses(409, "signature_required");
    let key = format!("Idempotency-Key: {}\r\n", text("key"));
    let run = bot.send("POST", "/plans/burn/runs", &key, &body.to_string()).is(201)["run"].clone();
    assert_eq!(bot.ended(run.as_str().unwrap())["state"], "succeeded");
    assert!(sandbox.at("burnt").exists());
}

#[test]
fn a_refusal_has_one_form_whoever_refuses() {
    let sandbox = Sandbox::new();
    sandbox
        .file("report.md", REPORT)
        .file("burn.md", "---\nkind: plan\nid: burn\nsteps:\n  - {id: burn, run: touch x}\n---\n");
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let starts = |body: &str| bot.send("POST", "/plans/report/runs", "", body);
    let unknown = bot.get("/nothing").refuses(404, "not_found");
    assert!(unknown["remedy"].as_str().unwrap().contains("openapi.json"), "{unknown}");
    let wrong = bot.send("DELETE", "/runs", "", "").refuses(405, "method_not_allowed");
    assert!(wrong["message"].as_str().unwrap().contains("GET"), "{wrong}");
    let typo = bot.get("/runs?plam=x").refuses(400, "bad_request");
    assert!(typo["message"].as_str().unwrap().contains("`plam`") && typo["place"] == "query", "{typo}");
    for query in ["limit=0", "limit=x", "state=done", "plan=a%20b", "before=ffff"] {
        bot.get(&format!("/runs?{query}")).refuses(400, "bad_request");
    }
    bot.get("/requests/aa/x").refuses(400, "bad_request");
    bot.get("/runs/ffff").refuses(404, "not_found");
    bot.get("/plans/ffff").refuses(404, "not_found");
    assert_eq!(starts("{\"params\": 1").refuses(400, "bad_request")["place"], "body, line 1, column 12");
    starts("{\"parms\": {}}").refuses(400, "bad_request");
    assert_eq!(starts("{}").refuses(422, "invalid_params")["place"], "/params/region");
    let wrong = starts("{\"params\": {\"region\": \"EU\"}}").refuses(422, "invalid_params");
    assert_eq!(wrong["place"], "/params/region");
    starts("{\"params\": {\"region\": \"eu\"}, \"digest\": \"0\"}").refuses(409, "outdated");
    bot.send("POST", "/plans/report/runs", "Idempotency-Key: 1\r\n", "{}").refuses(400, "bad_request");
    starts(&"x".repeat(2 << 20)).refuses(413, "too_large");
    bot.post("/plans/burn/runs", &json!({})).refuses(409, "signature_required");

    let looker = Program::new(&pages, &sandbox, "look");
    let refused = looker.post("/plans/report/runs", &json!({})).refuses(403, "forbidden");
    assert!(refused["message"].as_str().unwrap().contains("`start`"), "{refused}");
    let stranger = Program { host: pages.host.clone(), key: String::new() };
    let answer = stranger.get("/runs");
    answer.refuses(401, "unauthorized");
    assert!(answer.head.contains("www-authenticate: Bearer"), "{answer:?}");
    Program { host: pages.host.clone(), key: "0".into() }.get("/runs").refuses(401, "unauthorized");
    assert!(sandbox.wf(&["runs", "--json"]).out.contains("\"runs\": []"), "nothing has started");
}

/// The words of a line of a shell that knows double and single quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for letter in line.chars() {
        match letter {
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            letter if quote == Some(letter) => quote = None,
            ' ' if quote.is_none() => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words
}

/// Asserts that a document has what is shown of it; `…` is any text, and an empty list any list.
#[track_caller]
fn has_shown(answer: &Value, shown: &Value) {
    match (answer, shown) {
        (Value::Object(answer), Value::Object(shown)) => {
            for (key, shown) in shown {
                has_shown(answer.get(key).unwrap_or_else(|| panic!("`{key}` is not in {answer:?}")), shown);
            }
        }
        (Value::Array(_), Value::Array(shown)) if shown.is_empty() => {}
        (Value::Array(answer), Value::Array(shown)) => {
            answer.iter().zip(shown).for_each(|(answer, shown)| has_shown(answer, shown));
            assert!(answer.len() >= shown.len(), "{answer:?}");
        }
        (Value::String(_), Value::String(any)) if any == "…" => {}
        _ => assert_eq!(answer, shown),
    }
}

#[test]
fn the_examples_of_the_document_about_it_are_what_happens() {
    let text = std::fs::read_to_string("docs/api.md").unwrap();
    let fences = fence::all(&text);
    let plan = fences.iter().find(|fence| fence.name() == Some("report.md")).expect("it has a plan");
    let session = fences.iter().find(|fence| fence.has("api")).expect("it has a session");
    let sandbox = Sandbox::new();
    sandbox.file("report.md", &plan.text);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let (mut run, mut answers) = (String::new(), 0);
    let mut lines = session.text.lines();
    while let (Some(sent), Some(shown)) = (lines.next(), lines.next()) {
        let line = sent.replace("$RUN", &run).replace("$WF", "").replace("$KEY", bot.key());
        let words = words(line.strip_prefix("$ curl -s ").expect("it is a request"));
        let (mut method, mut headers, mut body) = ("GET", String::new(), "");
        let mut options = words.iter().map(String::as_str);
        while let Some(option) = options.next() {
            match option {
                "-H" => headers += &format!("{}\r\n", options.next().unwrap()),
                "-X" => method = options.next().unwrap(),
                "-d" => (method, body) = ("POST", options.next().unwrap()),
                path => {
                    let program = Program { host: pages.host.clone(), key: String::new() };
                    let answer = program.send(method, path, &headers, body).json();
                    has_shown(&answer, &serde_json::from_str(shown).unwrap());
                    if let Some(started) = answer["run"].as_str() {
                        started.clone_into(&mut run);
                        bot.ended(&run);
                    }
                    answers += 1;
                }
            }
        }
    }
    assert!(answers > 5, "{session:?}");
}

#[test]
fn every_operation_of_the_document_is_there_and_needs_a_key() {
    let sandbox = Sandbox::new();
    let pages = Pages::open(&sandbox);
    let stranger = Program { host: pages.host.clone(), key: String::new() };
    let document = stranger.get("/openapi.json").is(200);
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string("schemas/openapi.json").unwrap()).unwrap();
    assert_eq!(document, kept);
    let bot = Program::new(&pages, &sandbox, "start");
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap().replace("{number}", "1").replace(['{', '}'], "");
        for method in operations.as_object().unwrap().keys() {
            let method = method.to_uppercase();
            stranger.send(&method, &path, "", "").refuses(401, "unauthorized");
            if !path.starts_with("/events") {
                let answer = bot.send(&method, &path, "", "{}");
                let is_mounted = answer.status != 405 && !answer.body.contains("there is no such address");
                assert!(is_mounted, "{method} {path}: {answer:?}");
            }
        }
    }
}
