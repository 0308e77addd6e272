//! The memory of many streams at once: none sends anything before all are open, and each sends 32 kB in 100 pieces.
//!
//! Run with `cargo bench -p wf-gateway --bench streams`. The server is another process, so it does not count.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark starts its server and prints"
)]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{Arc, Barrier},
    time::Duration,
};

use tokio::task::JoinSet;
use wf_base::{
    name::Name,
    time::{FixedClock, Moment},
};
use wf_core::agent::{Message, ModelRequest};
use wf_gateway::{Gateway, ModelKeyError, ModelKeyFuture, ModelKeyResolver};
use wf_model::{ModelApi, ModelDefinition, ModelTable, SecretSource};

/// The streams at once. The first case is what one takes.
const CASES: [usize; 2] = [1, 200];

/// The most memory all may take, in MB.
const MOST_MB: f64 = 100.0;

/// The pieces of a reply, and the characters of each.
const PIECES: usize = 100;
const PIECE_CHARS: usize = 320;

/// The characters of a request.
const REQUEST_CHARS: usize = 64 * 1024;

/// The argument by which this program is the server.
const SERVE: &str = "--serve";

/// The model has no key.
struct KeylessModel;

impl ModelKeyResolver for KeylessModel {
    fn resolve<'a>(&'a self, _: &'a SecretSource) -> ModelKeyFuture<'a> {
        Box::pin(async { Err(ModelKeyError("there is none".into())) })
    }
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != SERVE).skip(1);
    if let Some(count) = arguments.next() {
        return serve(count.parse().expect("a number of streams"));
    }
    println!("{:>8} {:>12} {:>14}", "streams", "peak MB", "MB per stream");
    let mut peaks = Vec::new();
    for count in CASES {
        measure(count);
        // The peak only grows, and so do the cases.
        let peak = peak_mb();
        let first = *peaks.first().unwrap_or(&peak);
        println!("{count:>8} {peak:>12.1} {:>14.2}", (peak - first) / count as f64);
        peaks.push(peak);
    }
    let last = peaks.last().copied().unwrap_or_default();
    assert!(last <= MOST_MB, "{last} MB are more than {MOST_MB}");
}

/// Reads replies side by side, all whole.
fn measure(count: usize) {
    let (mut server, base_url) = start_server(count);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let clock = Arc::new(FixedClock(Moment::from_millis(0)));
        let gateway = Gateway::new(ModelTable::default(), Arc::new(KeylessModel), "/".into(), clock);
        let (gateway, model) = (Arc::new(gateway), Arc::new(definition(base_url)));
        let mut calls = JoinSet::new();
        for _ in 0..count {
            let (gateway, model) = (Arc::clone(&gateway), Arc::clone(&model));
            calls.spawn(async move { gateway.call(&model, &request()).await });
        }
        while let Some(ended) = calls.join_next().await {
            let reply = ended.expect("a call ends").outcome.expect("the server replies");
            assert_eq!(reply.text.len(), PIECES * PIECE_CHARS);
        }
    });
    server.wait().expect("the server ends");
}

/// Starts a server of some streams; returns it with the base of its address.
fn start_server(count: usize) -> (Child, String) {
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    let started = command.args([SERVE, &count.to_string()]).stdout(Stdio::piped()).spawn();
    let mut server = started.expect("this program starts");
    let mut line = String::new();
    let output = server.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut line).expect("it prints its address");
    (server, line.trim().to_owned())
}

fn serve(count: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    println!("http://{}/v1", listener.local_addr().expect("an address"));
    let all_open = Arc::new(Barrier::new(count));
    let connections = (0..count).map(|_| {
        let (stream, _) = listener.accept().expect("a connection");
        let all_open = Arc::clone(&all_open);
        std::thread::spawn(move || reply(stream, &all_open))
    });
    let connections: Vec<_> = connections.collect();
    for connection in connections {
        connection.join().expect("the reply is sent");
    }
}

fn reply(mut stream: TcpStream, all_open: &Barrier) {
    read_request(&mut stream);
    let mut send = |text: &str| stream.write_all(text.as_bytes()).expect("the client reads");
    send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    all_open.wait();
    let piece = "x".repeat(PIECE_CHARS);
    for _ in 0..PIECES {
        send(&format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{piece}\"}}}}]}}\n\n"));
        std::thread::sleep(Duration::from_millis(10));
    }
    send("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
}

fn read_request(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).expect("a request");
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().expect("a length")) {
            return;
        }
    }
}

/// Returns the most memory this process had, in MB.
fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has the peak");
    let kib = line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number");
    kib * 1024.0 / 1e6
}

fn definition(base_url: String) -> ModelDefinition {
    ModelDefinition {
        name: Name::parse("local").expect("a name"),
        api: ModelApi::Openai,
        model: "m-1".into(),
        base_url: Some(base_url),
        key: None,
        context_window: ModelDefinition::CONTEXT_WINDOW,
        max_output: ModelDefinition::MAX_OUTPUT,
        price: None,
        timeout: Duration::from_mins(2),
        fallback: Vec::new(),
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        system: String::new(),
        messages: vec![Message::User { text: "x".repeat(REQUEST_CHARS) }],
        tools: Vec::new(),
        answer_schema: None,
        max_output: 100,
        temperature: None,
    }
}
