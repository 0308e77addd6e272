use hyper::body::Incoming;
use hyper::header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::json;

use super::Health;
use super::address::names_this_machine;
use super::metrics::{Format, metrics};

/// Answers one request; its body, if it has one, is not read.
pub(super) fn answer(request: &Request<Incoming>, health: &Health) -> Response<String> {
    if !is_for_this_machine(request) {
        let why = "ask for localhost, 127.0.0.1 or [::1]\n";
        return plain(StatusCode::MISDIRECTED_REQUEST, why);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and HEAD are known\n",
        );
        let known = HeaderValue::from_static("GET, HEAD");
        refused.headers_mut().insert(ALLOW, known);
        return refused;
    }
    match request.uri().path() {
        "/healthz" => state(health, health.is_well()),
        "/readyz" => state(health, health.is_ready()),
        "/metrics" => {
            let format = wanted(request.headers());
            let page = metrics(health, format);
            respond(StatusCode::OK, format.content_type(), page)
        }
        _ => plain(
            StatusCode::NOT_FOUND,
            "there are /healthz, /readyz and /metrics\n",
        ),
    }
}

/// Whether the one `Host`, and the place in the request line if there is one, name this machine.
fn is_for_this_machine(request: &Request<Incoming>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let place = request.uri().authority();
    host.to_str().is_ok_and(names_this_machine)
        && place.is_none_or(|place| names_this_machine(place.as_str()))
}

/// All of it in JSON, also for those who only look at the status.
fn state(health: &Health, good: bool) -> Response<String> {
    let status = if good {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = json!({
        "ok": good,
        "problem": health.problem,
        "waiting": health.waiting,
        "since": health.since,
        "leads": health.leads,
        "goals": health.goals.len(),
        "next": health.next(),
        "running": health.running,
    });
    respond(status, "application/json", format!("{body}\n"))
}

/// OpenMetrics for whom accepts it, else what everybody reads.
fn wanted(headers: &HeaderMap) -> Format {
    let accepts = headers.get_all(ACCEPT).iter();
    let mut accepts = accepts.filter_map(|value| value.to_str().ok());
    if accepts.any(|value| value.contains("application/openmetrics-text")) {
        Format::OpenMetrics
    } else {
        Format::Prometheus
    }
}

fn plain(status: StatusCode, why: &str) -> Response<String> {
    respond(status, "text/plain; charset=utf-8", why.to_owned())
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
