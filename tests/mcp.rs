//! `wf mcp serve`, asked by a client that writes each line itself, and by the client of the protocol's own library.

mod agent;
mod client;
mod health;
mod library;
mod real;

use serde_json::{Value, json};

use crate::support::{Sandbox, until};
use client::McpClient;

/// A step, and an approval that only a person can give.
const ASK: &str = "---\nkind: plan\nid: ask\nparams: {day: {type: string, default: monday}}\nsteps:\n\
    \x20 - id: build\n    env: {DAY: '{{ params.day }}'}\n    run: echo built on $DAY\n    verify: [{name: is_there, run: 'true'}]\n\
    \x20 - {id: ok, depends_on: [build], approve: {message: 'Ship it?', timeout: 1h}}\n---\n";

/// A plan that takes longer than any test.
const LONG: &str = "---\nkind: plan\nid: long\nsteps:\n  - {id: sleep, run: sleep 300}\n---\n";

/// A workspace with a plan that a person has approved.
fn approved(plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", plan);
    sandbox.wf(&["key", "init", "robin"]).exits(0);
    let day = if plan == ASK { &["--any", "day"][..] } else { &[] };
    let mut words = vec!["approve", "plan.md", "--yes", "--executions", "5"];
    words.extend(day);
    sandbox.wf(&words).exits(0);
    sandbox
}

#[test]
fn a_client_sees_every_mistake_of_a_plan_and_its_remedy() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", "---\nkind: plan\nid: bad\nsteps:\n  - {id: a, ruin: echo}\n---\n");
    let mut client = McpClient::start(&sandbox);
    let found = client.call("check", &json!({"paths": ["plan.md"]}));
    assert_eq!(found["isError"], false, "{found:#}");
    let document = &found["structuredContent"];
    assert!(document["errors"].as_u64() > Some(0), "{document:#}");
    let unknown = document["diagnostics"].as_array().unwrap().iter();
    let unknown: Vec<&Value> = unknown.filter(|one| one["code"] == "spec/unknown-key").collect();
    assert_eq!((unknown[0]["path"].as_str(), unknown[0]["line"].as_u64()), (Some("plan.md"), Some(5)));
    let text = found["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), document);
    client.end();
}

#[test]
fn a_plan_that_nobody_approved_is_not_run_and_nothing_is_signed() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", ASK);
    let mut client = McpClient::start(&sandbox);
    let refused = client.call("run", &json!({"plan": "plan.md"}));
    client.end();
    assert_eq!(refused["isError"], true, "{refused:#}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("plan.md is not approved") && text.contains("hint: "), "{text}");
    assert!(text.contains("wf approve"), "{text}");
    assert!(!sandbox.at(".wf").exists(), "something was recorded");
    let keys = sandbox.wf(&["key", "list"]);
    assert!(!keys.out.contains("robin"), "a key was made: {}", keys.all());
}

#[test]
fn a_run_outlives_its_server_and_waits_for_a_person() {
    let sandbox = approved(ASK);
    let mut client = McpClient::start(&sandbox);
    let started = client.call("run", &json!({"plan": "ask", "params": {"day": "tuesday"}}));
    assert_eq!(started["isError"], false, "{started:#}");
    let run = started["structuredContent"]["run"].as_str().unwrap().to_owned();
    let status = client.call("status", &json!({"run": run, "wait_seconds": 60}));
    assert_eq!(status["structuredContent"]["run"]["params"]["day"], "tuesday", "{status:#}");
    let note = status["content"][0]["text"].as_str().unwrap();
    assert!(note.contains("only a person") && note.contains(&format!("wf approve {run}")), "{note}");
    let pending = client.call("pending", &json!({}));
    let listed = &pending["structuredContent"]["pending"][0];
    assert_eq!((&listed["step"], &listed["message"]), (&json!("ok"), &json!("Ship it?")), "{pending:#}");
    assert!(client.text("logs", &json!({"step": "build"})).contains("built on tuesday"));
    client.end();
    sandbox.wf(&["approve", &run, "--yes"]).exits(0);
    until("the run succeeds", || sandbox.wf(&["show", &run]).out.contains("succeeded"));
    let mut client = McpClient::start(&sandbox);
    let verified = client.call("verify", &json!({"run": run}));
    assert_eq!(verified["structuredContent"]["holds"], true, "{verified:#}");
    let runs = client.call("runs", &json!({"limit": 1}));
    assert_eq!(runs["structuredContent"]["runs"][0]["id"], json!(run), "{runs:#}");
    assert_eq!(client.call("pending", &json!({}))["structuredContent"]["pending"], json!([]));
    client.end();
}

#[test]
fn arguments_that_are_wrong_or_leave_the_workspace_are_refused() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("/etc", sandbox.at("etc")).unwrap();
    let mut client = McpClient::start(&sandbox);
    for (tool, given, reason) in [
        ("check", json!({"paths": ["../other"]}), "outside of the workspace"),
        ("check", json!({"paths": ["etc/passwd"]}), "through a link"),
        ("run", json!({"plan": "/etc/plan.md"}), "outside of the workspace"),
        ("graph", json!({"plan": "--help"}), "--help"),
        ("graph", json!({}), "missing field `plan`"),
        ("run", json!({"plan": "a", "key": "robin"}), "unknown field `key`"),
        ("status", json!({"run": "--last"}), "no state"),
        ("runs", json!({"limit": -1}), "arguments of `runs` are wrong"),
        ("logs", json!({"run": "abc", "tail": -1}), "arguments of `logs` are wrong"),
    ] {
        let refused = client.call(tool, &given);
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert_eq!(refused["isError"], true, "{tool} {given}: {text}");
        assert!(text.starts_with("error: ") && text.contains(reason), "{tool} {given}: {text}");
    }
    client.end();
}

#[test]
fn a_cancelled_call_gets_no_reply_and_others_go_on() {
    let sandbox = approved(LONG);
    let mut client = McpClient::start(&sandbox);
    let started = client.call("run", &json!({"plan": "plan.md"}));
    let run = started["structuredContent"]["run"].as_str().unwrap().to_owned();
    let waiting =
        client.ask("tools/call", &json!({"name": "status", "arguments": {"run": run, "wait_seconds": 600}}));
    let again = client.ask_as(waiting, "tools/call", &json!({"name": "runs"}));
    assert_eq!(client.reply(again)["error"]["code"], -32600, "an id is that of one request at a time");
    client.tell("notifications/cancelled", &json!({"requestId": waiting}));
    assert_eq!(client.call("list", &json!({}))["isError"], false);
    // A call that waits does not keep the server: its client gets the state at once.
    let last = client.ask("tools/call", &json!({"name": "status", "arguments": {"wait_seconds": 600}}));
    let rest = client.end();
    assert!(rest.iter().any(|reply| reply["id"] == json!(last)), "{rest:#?}");
    assert!(!rest.iter().any(|reply| reply["id"] == json!(waiting)), "{rest:#?}");
    assert!(sandbox.wf(&["show", &run]).out.contains("running"), "the run goes on");
    sandbox.wf(&["cancel", &run]).exits(0);
}

#[test]
fn nonsense_gets_one_error_each_and_the_server_goes_on() {
    let sandbox = Sandbox::new();
    let mut client = McpClient::start(&sandbox);
    let long = format!("{}\n", "[".repeat(5 * 1024 * 1024));
    for (line, code) in [("{\n", -32700), ("\u{feff}null\n", -32700), ("[1]\n", -32600), (&long, -32700)] {
        client.write(line.as_bytes());
        let refused = client.next();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(code)), "{refused}");
    }
    client.write(b"\xff\xfe\n\n");
    assert_eq!(client.next()["error"]["code"], -32700);
    let number = client.ask("tools/call", &json!({"name": "approve"}));
    let unknown = client.reply(number);
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.contains("there is no tool `approve`") && message.contains("pending"), "{message}");
    assert_eq!(client.call("list", &json!({}))["isError"], false);
    client.end();
}
