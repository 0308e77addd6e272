//! Traces of runs, sent to the collector in the standard variables of OpenTelemetry.
//!
//! **Invariant:** a collector that does not answer changes nothing about a run, whose end is durable before its trace is sent.

use std::time::Duration;

use crate::{CliExitCode, CommandError, Host};
use wf_exec::http::{HttpClient, HttpNotification};
use wf_report::record::{RunRecord, TraceParent, otlp_trace};

/// The longest time a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The destination of traces.
struct Collector {
    url: String,
    headers: Vec<(String, String)>,
    service: String,
    parent: Option<TraceParent>,
}

/// True if the environment names a collector.
pub fn is_traced(host: &Host) -> bool {
    Collector::of(host).is_some()
}

/// Sends the trace of a run that ended, if the environment names a collector.
pub fn send_trace(host: &Host, record: &RunRecord) -> Result<(), CommandError> {
    let Some(collector) = Collector::of(host) else {
        return Ok(());
    };
    let body = otlp_trace(record, collector.parent.as_ref(), &collector.service).to_string();
    let mut headers = vec![("content-type".into(), "application/json".to_owned())];
    headers.extend(collector.headers.into_iter().map(|(name, value)| (name.into(), value)));
    let post = HttpNotification { url: collector.url, headers, body, timeout: TIMEOUT };
    let failed = |reason: String| CommandError::new(CliExitCode::State, reason);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    let sent = runtime.block_on(HttpClient::new(&host.vars()).post(post, host.clock().now()));
    sent.map_err(|error| failed(format!("the trace is not sent: {error}")))
}

impl Collector {
    fn of(host: &Host) -> Option<Self> {
        let var = |name: &str| host.var(name).map(str::trim).filter(|value| !value.is_empty());
        let base =
            var("OTEL_EXPORTER_OTLP_ENDPOINT").map(|url| format!("{}/v1/traces", url.trim_end_matches('/')));
        let url = var("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned).or(base)?;
        let headers = var("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or(var("OTEL_EXPORTER_OTLP_HEADERS"));
        let headers = headers.unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
        Some(Self {
            url,
            headers: headers.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect(),
            service: var("OTEL_SERVICE_NAME").unwrap_or("wf").to_owned(),
            parent: var("TRACEPARENT").and_then(TraceParent::parse),
        })
    }
}
