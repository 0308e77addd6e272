use std::collections::BTreeMap;

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue},
};
use serde_json::json;

use super::{DaemonHealth, address::names_this_machine, metrics::metrics};
use wf_report::metrics::MetricsFormat;

/// Answers one request; its body, if any, is not read.
pub(super) fn answer(request: &Request<Incoming>, health: &DaemonHealth) -> Response<String> {
    if !is_for_this_machine(request) {
        let reason = "use the host localhost, 127.0.0.1 or [::1]\n";
        return plain(StatusCode::MISDIRECTED_REQUEST, reason);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n");
        let methods = HeaderValue::from_static("GET, HEAD");
        refused.headers_mut().insert(ALLOW, methods);
        return refused;
    }
    match request.uri().path() {
        "/healthz" => state(health, health.is_well()),
        "/readyz" => state(health, health.is_ready()),
        "/metrics" => {
            let accepted = request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let format = MetricsFormat::accepted(accepted);
            let page = metrics(health, format);
            respond(StatusCode::OK, format.content_type(), page)
        }
        _ => plain(StatusCode::NOT_FOUND, "not found; use /healthz, /readyz or /metrics\n"),
    }
}

/// True if the only `Host`, and the authority in the request line if any, name this machine.
fn is_for_this_machine(request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let place = request.uri().authority();
    host.to_str().is_ok_and(names_this_machine)
        && place.is_none_or(|place| names_this_machine(place.as_str()))
}

/// Returns the full state in JSON, even for readers of the status alone.
fn state(health: &DaemonHealth, good: bool) -> Response<String> {
    let status = if good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "ok": good,
        "problem": health.problem,
        "waiting": health.waiting,
        "blocked": health.blocked().collect::<BTreeMap<_, _>>(),
        "since": health.since,
        "leads": health.leads,
        "goals": health.goals.len(),
        "next": health.next(),
        "running": health.running,
    });
    respond(status, "application/json", format!("{body}\n"))
}

fn plain(status: StatusCode, reason: &str) -> Response<String> {
    respond(status, "text/plain; charset=utf-8", reason.to_owned())
}

fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let sniff = HeaderValue::from_static("nosniff");
    headers.insert("x-content-type-options", sniff);
    response
}
