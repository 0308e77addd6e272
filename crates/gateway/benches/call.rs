//! The cost of the gateway: calls through it and calls by `curl`, which sends the same bytes to the same server, in turn.
//!
//! Run with a server needing no key, such as `tests/real/serve.py`:
//! `cargo bench -p wf-gateway --bench call -- http://127.0.0.1:PORT/v1`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark reads the clock, starts programs and prints"
)]

use std::{
    fs,
    path::PathBuf,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use wf_base::{
    name::Name,
    time::{FixedClock, Moment},
};
use wf_core::agent::{Message, ModelRequest};
use wf_gateway::{
    Gateway, ModelKeyError, ModelKeyFuture, ModelKeyResolver,
    wire::{WireRequest, encode_request},
};
use wf_model::{ModelApi, ModelDefinition, ModelTable, SecretSource};

/// The tokens of a reply and how often it is measured: replies that cost a server little, and streams.
const CASES: [(u64, usize); 2] = [(1, 200), (64, 12)];

/// The keys of models: there are none.
struct NoKeys;

impl ModelKeyResolver for NoKeys {
    fn resolve<'a>(&'a self, _: &'a SecretSource) -> ModelKeyFuture<'a> {
        Box::pin(async { Err(ModelKeyError("there is none".into())) })
    }
}

/// The gateway that is measured, its model, and the file with the request that `curl` sends.
struct Subject {
    gateway: Gateway,
    model: ModelDefinition,
    runtime: tokio::runtime::Runtime,
    body: PathBuf,
}

fn main() {
    let base_url = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let base_url =
        base_url.expect("give the base of a server's address: cargo bench … -- http://127.0.0.1:PORT/v1");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let model = definition(base_url);
    let subject = Subject {
        gateway: Gateway::new(
            ModelTable::default(),
            Arc::new(NoKeys),
            dir.path().into(),
            Arc::new(FixedClock(Moment::from_millis(0))),
        ),
        model,
        runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"),
        body: dir.path().join("body.json"),
    };
    println!(
        "{:>6} {:>6} {:>12} {:>12} {:>14} {:>14}",
        "tokens", "calls", "gateway ms", "curl ms", "difference ms", "processor ms"
    );
    for (tokens, calls) in CASES {
        subject.measure(tokens, calls);
    }
}

impl Subject {
    /// Measures calls in pairs, and prints medians.
    fn measure(&self, tokens: u64, calls: usize) {
        let request = request(tokens);
        let wire = WireRequest {
            request: &request,
            model: &self.model.model,
            max_output: tokens,
            stream: true,
            is_inventor: false,
        };
        let body = encode_request(self.model.api, &wire).expect("a format of HTTP");
        fs::write(&self.body, body.to_string()).expect("a file can be written");
        // The first calls fill the server's cache and open the gateway's connection.
        self.call(&request);
        self.curl();
        let (mut gateway_ms, mut curl_ms, mut busy_ms) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..calls {
            let (time_ms, processor_ms) = self.call(&request);
            gateway_ms.push(time_ms);
            busy_ms.push(processor_ms);
            curl_ms.push(self.curl());
        }
        let difference = gateway_ms.iter().zip(&curl_ms).map(|(gateway, curl)| gateway - curl).collect();
        println!(
            "{tokens:>6} {calls:>6} {:>12.2} {:>12.2} {:>14.2} {:>14.2}",
            median(gateway_ms),
            median(curl_ms),
            median(difference),
            median(busy_ms)
        );
    }

    /// Returns the time of a call through the gateway, and its processor time, in milliseconds.
    fn call(&self, request: &ModelRequest) -> (f64, f64) {
        let (started, busy_before) = (Instant::now(), processor_ms());
        let result = self.runtime.block_on(self.gateway.call(&self.model, request));
        let times = (started.elapsed().as_secs_f64() * 1e3, processor_ms() - busy_before);
        result.outcome.expect("the server replies");
        times
    }

    /// Returns the time of the same call by `curl`, without its start, in milliseconds.
    fn curl(&self) -> f64 {
        let base = self.model.base_url.as_deref().unwrap_or_default();
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--fail", "--no-buffer", "--output", "/dev/null"])
            .args([
                "--write-out",
                "%{time_total}",
                "--header",
                "content-type: application/json",
                "--data-binary",
            ])
            .arg(format!("@{}", self.body.display()))
            .arg(format!("{base}/chat/completions"))
            .output()
            .expect("curl is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).parse::<f64>().expect("curl prints the time") * 1e3
    }
}

fn definition(base_url: String) -> ModelDefinition {
    ModelDefinition {
        name: Name::parse("small").expect("a name"),
        api: ModelApi::Openai,
        model: "smollm2".into(),
        base_url: Some(base_url),
        key: None,
        context_window: ModelDefinition::CONTEXT_WINDOW,
        max_output: ModelDefinition::MAX_OUTPUT,
        price: None,
        timeout: Duration::from_mins(2),
        fallback: Vec::new(),
    }
}

fn request(max_output: u64) -> ModelRequest {
    ModelRequest {
        system: String::new(),
        messages: vec![Message::User { text: "Tell a long story about a lighthouse.".into() }],
        tools: Vec::new(),
        answer_schema: None,
        max_output,
        temperature: Some(0.0),
    }
}

/// Returns the processor time of this thread, which does all the gateway does, in milliseconds.
fn processor_ms() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
