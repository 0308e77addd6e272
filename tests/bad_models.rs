//! Models that reply what no model should: each run comes to one clear end, and no reply reaches anything else.
//!
//! The server is real and speaks Chat Completions; what it replies is a row of [`CASES`].

use std::{
    io::{BufRead as _, BufReader, Read as _, Write},
    net::{TcpListener, TcpStream},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

const PLAN: &str = "---\nkind: plan\nid: p\nsteps:\n  - {id: a, agent: {role: executor, tools: [read], max_turns: 5}}\n\
                    ---\n\n## a\n\nRead the plan.\n";

/// A model: the pieces of its reply to a request by its number from 0, the exit code of a run, and words of the log.
struct Case {
    name: &'static str,
    reply: fn(usize) -> Vec<u8>,
    code: i32,
    says: &'static str,
}

const CASES: [Case; 12] = [
    Case {
        name: "100 MB",
        reply: |_| text(&"x".repeat(100_000_000)),
        code: 1,
        says: "exceeds 8.0 MiB and was cut off",
    },
    Case {
        name: "a line of 100 MB",
        reply: |_| [b"data: ".to_vec(), vec![b'x'; 100_000_000]].concat(),
        code: 1,
        says: "exceeds 8.0 MiB and was cut off",
    },
    Case { name: "no UTF-8", reply: |_| b"data: \xff\xfe\n\n".to_vec(), code: 1, says: "not valid UTF-8" },
    Case {
        name: "a stream that is cut in a character",
        reply: |_| {
            let mut event = event(&json!({"delta": {"content": "Grü"}}));
            let inside = event.windows(2).position(|pair| pair == "ü".as_bytes()).unwrap() + 1;
            event.truncate(inside);
            event
        },
        code: 1,
        says: "the stream ended before the reply was complete",
    },
    Case { name: "no stream", reply: |_| b"<html>busy</html>".to_vec(), code: 1, says: "the stream ended" },
    Case {
        name: "endless tool calls",
        reply: |_| calls("read", r#"{"path": "plan.md"}"#, 1),
        code: 1,
        says: "made 5 model calls, its `max_turns`",
    },
    Case {
        name: "10,000 tool calls at once",
        reply: |_| calls("read", r#"{"path": "plan.md"}"#, 10_000),
        code: 1,
        says: "`tool_calls` of the reply is not a list of at most 1000",
    },
    Case {
        name: "an unknown tool",
        reply: |turn| first(turn, "fly", "{}"),
        code: 0,
        says: "there is no tool",
    },
    Case {
        name: "arguments that are no JSON",
        reply: |turn| first(turn, "read", r#"{"path": "#),
        code: 0,
        says: "the arguments of `read` are not JSON",
    },
    Case {
        name: "arguments of a depth of 100,000",
        reply: |turn| first(turn, "read", &"[".repeat(100_000)),
        code: 0,
        says: "the arguments of `read` are not JSON",
    },
    Case {
        name: "arguments of another schema",
        reply: |turn| first(turn, "read", r#"{"path": ["plan.md"]}"#),
        code: 0,
        says: "the argument `path` of `read`",
    },
    Case {
        name: "a path with a zero byte",
        reply: |turn| first(turn, "read", r#"{"path": "plan\u0000.md"}"#),
        code: 0,
        says: "without NUL characters",
    },
];

#[test]
fn every_reply_comes_to_one_clear_end() {
    for case in &CASES {
        let sandbox = Sandbox::new();
        let models = json!({"models": {"m": {"api": "openai", "model": "m", "base_url": serve(case.reply)}},
                            "roles": {"executor": "m"}});
        sandbox.file("wf.yaml", models.to_string()).file("plan.md", PLAN);
        let run = sandbox.wf(&["run", "plan.md"]);
        assert!(!run.all().contains("panicked") && run.all().len() < 20_000, "{}: {}", case.name, run.all());
        assert_eq!(run.code, Some(case.code), "{}: {}", case.name, run.all());
        let log = sandbox.wf(&["logs", "--last", "a", "--calls"]);
        let all = format!("{}{}", run.all(), log.all());
        assert!(all.contains(case.says), "{} does not say {:?}: {all}", case.name, case.says);
    }
}

#[test]
fn a_reply_controls_no_terminal() {
    let sandbox = Sandbox::new();
    let base_url = serve(|_| text("done\u{0}\u{1b}[2J\u{202e}gnp"));
    let models = json!({"models": {"m": {"api": "openai", "model": "m", "base_url": base_url}}, "roles": {"executor": "m"}});
    sandbox.file("wf.yaml", models.to_string()).file("plan.md", PLAN);
    let run = sandbox.wf(&["run", "plan.md", "-v"]);
    for shown in
        [run.all(), sandbox.wf(&["logs", "--last", "a"]).all(), sandbox.wf(&["show", "--last"]).all()]
    {
        assert!(!shown.contains(['\u{0}', '\u{1b}', '\u{202e}']), "{shown:?}");
    }
}

/// Returns an event of a stream.
fn event(choice: &Value) -> Vec<u8> {
    format!("data: {}\n\n", json!({"choices": [choice]})).into_bytes()
}

/// Returns a stream whose reply is a text.
fn text(text: &str) -> Vec<u8> {
    let end = event(&json!({"delta": {}, "finish_reason": "stop"}));
    [event(&json!({"delta": {"content": text}})), end, b"data: [DONE]\n\n".to_vec()].concat()
}

/// Returns a stream whose reply is a number of calls of a tool.
fn calls(tool: &str, arguments: &str, count: usize) -> Vec<u8> {
    let call = |index| json!({"index": index, "id": format!("c{index}"), "function": {"name": tool, "arguments": arguments}});
    let calls: Vec<Value> = (0..count).map(call).collect();
    let end = event(&json!({"delta": {}, "finish_reason": "tool_calls"}));
    [event(&json!({"delta": {"tool_calls": calls}})), end, b"data: [DONE]\n\n".to_vec()].concat()
}

/// Returns a call of a tool for the first request, and a text for those after it.
fn first(turn: usize, tool: &str, arguments: &str) -> Vec<u8> {
    if turn == 0 { calls(tool, arguments, 1) } else { text("done") }
}

/// Serves a model until the test ends, and returns its address.
#[expect(clippy::disallowed_methods, reason = "somebody has to listen")]
fn serve(reply: fn(usize) -> Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    std::thread::spawn(move || {
        for (turn, client) in listener.incoming().flatten().enumerate() {
            // A client that has read enough hangs up.
            let _ = answer(client, &reply(turn));
        }
    });
    format!("http://{address}/v1")
}

/// Reads a request, and replies.
fn answer(client: TcpStream, reply: &[u8]) -> std::io::Result<()> {
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
    client.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    client.write_all(reply)
}
