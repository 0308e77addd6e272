//! A judge, a gate, an agent's provider or a budget that fails is no evidence about the work: nothing is remembered.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

use serde_json::{Value, json};

use crate::support::{Did, Sandbox};

/// A reply of the provider of a judge, gate or agent, and its status.
#[derive(Clone, Copy)]
struct Reply {
    name: &'static str,
    status: &'static str,
    body: &'static str,
}

const REFUSED: Reply = Reply { name: "a wrong key", status: "401 Unauthorized", body: r#"{"error": {}}"# };

const REPLIES: [Reply; 4] = [
    REFUSED,
    Reply { name: "too many calls", status: "429 Too Many Requests", body: r#"{"error": {}}"# },
    Reply {
        name: "garbage",
        status: "200 OK",
        body: "data: {\"choices\": [{\"delta\": {\"content\": \"fine!\"}}]}\n\n\
               data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n",
    },
    Reply { name: "nothing", status: "200 OK", body: "" },
];

/// Serves a model until the test ends, and returns its address.
#[expect(clippy::disallowed_methods, reason = "somebody has to listen")]
fn serve(reply: Reply) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            // A client that has read enough hangs up.
            let _ = answer(client, reply);
        }
    });
    format!("http://{address}/v1")
}

/// Reads a request, and replies.
fn answer(client: TcpStream, reply: Reply) -> std::io::Result<()> {
    let mut reader = BufReader::new(client);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
    let mut client = reader.into_inner();
    write!(
        client,
        "HTTP/1.1 {}\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        reply.status
    )?;
    client.write_all(reply.body.as_bytes())
}

/// A workspace whose judge and executor are the model of a reply, with a plan whose step has another way.
fn place(reply: Reply, plan: &str) -> Sandbox {
    let place = Sandbox::new();
    let model = json!({"api": "openai", "model": "m", "base_url": serve(reply)});
    let config = json!({"models": {"m": model}, "roles": {"judge": "m", "executor": "m"}});
    place.file("wf.yaml", config.to_string());
    let head = "---\nkind: plan\nid: p\nintent: Count the lines\nreplan: {max_replans: 2}\n";
    place.file("p.md", format!("{head}{plan}---\n\n## a\n\nWork.\n"));
    place
}

const JUDGED: &str = "\
steps:
  - id: a
    tool: text:wc
    target: notes
    run: echo ran >> ran.txt; echo 3 > out.txt
    writes: [out.txt, ran.txt]
    verify: [{name: fine, mode: plausible, run: cat out.txt, judge: {role: judge, criteria: [It is 3.]}}]
    alternatives: [{id: other, tool: text:awk, run: echo 3 > out.txt}]
";

fn record(place: &Sandbox) -> Value {
    serde_json::from_str(&place.wf(&["show", "--last", "--json"]).exits(0).out).unwrap()
}

/// Asserts that a run ended by a failure of the engine's own, without a round, and left nothing in memory.
fn shows_nothing(place: &Sandbox, ran: &Did, name: &str) {
    let shown = record(place);
    assert_eq!(shown["steps"][0]["failure_class"], "engine", "{name}: {}", ran.all());
    assert_eq!(shown["rounds"].as_array().map_or(0, Vec::len), 0, "{name}: {}", ran.all());
    assert!(ran.all().contains("wf retry "), "{name}: {}", ran.all());
    forgot(place, name);
}

fn forgot(place: &Sandbox, name: &str) {
    let known = place.wf(&["memory", "export"]);
    assert!(!known.out.contains("\"space\""), "{name}: {}", known.all());
}

#[test]
fn a_judge_that_does_not_answer_shows_nothing_of_the_work() {
    for reply in REPLIES {
        let place = place(reply, JUDGED);
        let ran = place.wf(&["run", "p.md"]).exits(1);
        shows_nothing(&place, &ran, reply.name);
        assert_eq!(place.read("ran.txt"), "ran\n", "{}: the work is not done again", reply.name);
    }
}

#[test]
fn twenty_runs_with_a_wrong_key_leave_memory_empty() {
    let place = place(REFUSED, JUDGED);
    for number in 0..20 {
        let ran = place.wf(&["run", "p.md"]).exits(1);
        assert!(ran.all().contains("check `key` of the model"), "{number}: {}", ran.all());
    }
    forgot(&place, "a wrong key");
}

#[test]
fn a_gate_whose_model_does_not_answer_shows_nothing_of_the_work() {
    for reply in REPLIES {
        let plan = "\
gates: [{id: g, on: before_step, provider: llm, promote_to_policy: true, config: {prompt: \"Is it fine?\"}}]
steps:
  - {id: a, tool: text:wc, target: notes, run: 'true'}
";
        let place = place(reply, plan);
        let ran = place.wf(&["run", "p.md"]).exits(1);
        shows_nothing(&place, &ran, reply.name);
    }
}

#[test]
fn an_agent_whose_provider_is_down_or_whose_budget_is_too_small_shows_nothing_of_the_work() {
    let agent = "steps: [{id: a, tool: text:wc, target: notes, agent: {role: executor, tools: [read], max_turns: 3}}]\n";
    for reply in [REFUSED, REPLIES[1], REPLIES[3]] {
        let place = place(reply, agent);
        let ran = place.wf(&["run", "p.md"]).exits(1);
        shows_nothing(&place, &ran, reply.name);
    }
    let place = place(REFUSED, &format!("budget: {{max_tokens: 10}}\n{agent}"));
    let ran = place.wf(&["run", "p.md"]).exits(1);
    shows_nothing(&place, &ran, "budget");
    assert!(ran.all().contains("raise `budget` of the plan"), "{}", ran.all());
}

#[test]
fn a_secret_that_cannot_be_read_shows_nothing_of_the_work() {
    let plan = "\
secrets: {KEY: {from: command, run: ['false']}}
steps: [{id: a, tool: text:wc, target: notes, env: {K: '{{ secrets.KEY }}'}, run: 'true'}]
";
    let place = place(REFUSED, plan);
    let ran = place.wf(&["run", "p.md"]).exits(1);
    shows_nothing(&place, &ran, "secret");
}

/// A plan that uses another one, which fails by one step or two.
fn nested(inner: &str) -> Sandbox {
    let place = Sandbox::new();
    let head = |id: &str, rest: &str| format!("---\nkind: plan\nid: {id}\n{rest}---\n");
    place.file("inner.md", head("inner", &format!("policy: {{on_failure: continue}}\nsteps:\n{inner}")));
    place.file("other.md", head("other", "steps: [{id: b, run: 'true'}]\n"));
    let outer = "replan: {max_replans: 1}\nsteps:\n  - id: a\n    tool: ask:inner\n    target: near\n    uses: inner.md\n    \
                 alternatives: [{id: far, target: far, uses: other.md}]\n";
    place.file("outer.md", head("outer", outer));
    place
}

const AWAY: &str = "  - {id: fetch, run: \"echo 'curl: (7) Connection refused' >&2; exit 7\"}\n";
const WRONG: &str = "  - {id: sum, run: exit 1}\n";

#[test]
fn the_class_of_a_nested_run_is_that_of_what_failed_inside() {
    for (inner, p, directive, state) in [
        (AWAY.to_owned(), 0.0, "change_path", "change_path"),
        (WRONG.to_owned(), 1.0, "break_symmetry", "change_approach"),
        (format!("{AWAY}{WRONG}"), 0.5, "change_path", "change_approach"),
    ] {
        let place = nested(&inner);
        let ran = place.wf(&["run", "outer.md"]);
        let round = &record(&place)["rounds"][0];
        assert_eq!(round["loss"]["p"].as_f64(), Some(p), "{inner}: {}", ran.all());
        assert_eq!(round["directive"], directive, "{inner}: {}", ran.all());
        let known = place.wf(&["memory", "export"]).exits(0).out;
        let of_tool =
            known.lines().find(|line| line.contains("tool:ask:inner") && line.contains("path:near"));
        let of_tool = of_tool.unwrap_or_default();
        assert!(of_tool.contains(&format!("\"state\":\"{state}\"")), "{inner}: {known}");
    }
}
