//! Traces of runs, sent to a collector that listens on a real socket.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    thread::JoinHandle,
};

use serde_json::Value;

use crate::support::{Did, Sandbox};

const PLAN: &str = "\
---
kind: plan
id: build
params: {word: {type: string, default: confidential}}
steps:
  - {id: make, run: 'true'}
  - {id: test, depends_on: [make], run: 'exit 3', env: {WORD: '{{ params.word }}'}}
---
";

/// A request as it came: its head and its body.
type Received = (String, String);

/// Answers one request with a status, and returns it.
fn collect(status: &'static str) -> (u16, JoinHandle<Received>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    #[expect(clippy::disallowed_methods, reason = "the collector answers while the command runs")]
    let collector = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let (mut head, mut size) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            reader.read_line(&mut head).unwrap();
            let line = head[start..].to_ascii_lowercase();
            size = line.strip_prefix("content-length: ").map_or(size, |size| size.trim().parse().unwrap());
        }
        let mut body = vec![0; size];
        reader.read_exact(&mut body).unwrap();
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        (head, String::from_utf8(body).unwrap())
    });
    (port, collector)
}

fn run(sandbox: &Sandbox, vars: &[(&str, String)]) -> Did {
    let mut command = sandbox.command(&["run", "build.md"]);
    command.envs(vars.iter().map(|(name, value)| (name, value)));
    Did::of(&mut command)
}

#[test]
fn a_run_that_ended_is_sent_to_the_collector_without_its_values() {
    let sandbox = Sandbox::new();
    sandbox.file("build.md", PLAN);
    let (port, collector) = collect("200 OK");
    let vars = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}/")),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k3y-of-the-collector".to_owned()),
        ("OTEL_SERVICE_NAME", "nightly".to_owned()),
        ("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
    ];
    let did = run(&sandbox, &vars).exits(1);
    assert!(!did.all().contains("k3y-of"), "{}", did.all());
    let (head, body) = collector.join().unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("x-key: k3y-of-the-collector"), "{head}");
    assert!(!body.contains("confidential"), "{body}");
    let sent: Value = serde_json::from_str(&body).unwrap();
    let resource = &sent["resourceSpans"][0];
    assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "nightly");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let names: Vec<&str> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["run build", "make", "make#1", "test", "test#1"]);
    assert_eq!(spans[0]["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(spans[4]["status"]["message"], "exit code 3");
}

#[test]
fn a_collector_that_refuses_changes_nothing_but_is_named() {
    let sandbox = Sandbox::new();
    sandbox.file("build.md", PLAN.replace("exit 3", "true"));
    let (port, collector) = collect("503 Service Unavailable");
    let vars = [("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("http://127.0.0.1:{port}/in"))];
    run(&sandbox, &vars).exits(0).says("warning:").says("the trace is not sent").says("503");
    assert!(collector.join().unwrap().0.starts_with("POST /in "));
    let gone = [("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"))];
    run(&sandbox, &gone).exits(0).says("the trace is not sent");
    let wrong = [("OTEL_EXPORTER_OTLP_ENDPOINT", "collector".to_owned())];
    run(&sandbox, &wrong).exits(0).says("invalid URL");
}
