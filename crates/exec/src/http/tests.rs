use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::json;
use tokio::sync::watch;

use super::{HttpClient, HttpJob, HttpOutcome, HttpRequest};
use crate::{HostEnv, log, work_error::StopLevel};
use wf_base::{
    name::Name,
    redact::SecretMask,
    time::{FixedClock, Moment, SystemClock},
};
use wf_core::machine::WorkExit;
use wf_model::{FailureClass, RequiredOutput, ValueSchema};

/// A server that gives each request to `answer` and its text back; ends with the test.
#[expect(clippy::disallowed_methods, reason = "the other side of the wire")]
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = vec![0; 65_536];
            let length = stream.read(&mut bytes).unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            seen.lock().unwrap().push(text.clone());
            let _ = stream.write_all(answer(&text).as_bytes());
        }
    });
    (port, asked)
}

fn reply(status: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n{body}")
}

fn job(dir: &Path, url: &str) -> HttpJob {
    HttpJob {
        request: HttpRequest {
            method: "GET".into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            expect: Vec::new(),
            outputs: Vec::new(),
            careful: false,
        },
        timeout: Some(Duration::from_secs(5)),
        log: log::LogTarget {
            path: dir.join("get.1.log"),
            limit: 1000,
            mask: SecretMask::new(["hunter22"]),
            clock: Arc::new(SystemClock),
        },
        outputs: Vec::new(),
    }
}

async fn send(job: HttpJob) -> HttpOutcome {
    HttpClient::new(&HostEnv::new()).run_job(job, watch::channel(StopLevel::No).1, None).await
}

/// The class and the reason of a request that must fail.
async fn fails(change: impl FnOnce(&mut HttpJob), url: &str) -> (FailureClass, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(dir.path(), url);
    change(&mut job);
    match send(job).await.exit {
        WorkExit::Error { reason, failure_class } => (failure_class, reason),
        other => panic!("{url}: {other:?}"),
    }
}

fn rows() -> RequiredOutput {
    RequiredOutput {
        name: Name::parse("rows").unwrap(),
        schema: ValueSchema::new(json!({ "type": "integer" })).unwrap(),
    }
}

fn wants_rows(job: &mut HttpJob) {
    job.request.outputs = vec![(Name::parse("rows").unwrap(), "$.data.rows".into())];
    job.outputs = vec![rows()];
}

#[tokio::test]
async fn an_answer_is_kept_and_read() {
    let (port, asked) = serve(|_| reply("201 Created", "", r#"{"data":{"rows":3},"t":"hunter22"}"#));
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(dir.path(), &format!("http://127.0.0.1:{port}/x?y=1"));
    job.request.method = "POST".into();
    job.request.headers = vec![("X-Token".into(), "hunter22".into())];
    job.request.body = Some("hello".into());
    wants_rows(&mut job);
    let finished = send(job).await;
    assert_eq!(finished.exit, WorkExit::Completed);
    assert_eq!(json!(finished.outputs), json!({ "rows": 3 }));
    let kept = std::fs::read_to_string(dir.path().join("get.1.log")).unwrap();
    assert_eq!(kept, r#"{"data":{"rows":3},"t":"***"}"#);
    let request = asked.lock().unwrap().concat();
    assert!(request.starts_with("POST /x?y=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-token: hunter22\r\n") && request.ends_with("hello"), "{request}");
}

#[tokio::test]
async fn a_status_that_was_not_asked_for_fails() {
    for (status, failure_class) in [
        ("404 Not Found", FailureClass::Logical),
        ("429 Too Many Requests", FailureClass::Environmental),
        ("503 Service Unavailable", FailureClass::Environmental),
    ] {
        let (port, _) = serve(move |_| reply(status, "", "sorry"));
        let url = format!("http://127.0.0.1:{port}/");
        let (found, reason) = fails(|_| {}, &url).await;
        assert_eq!(reason, format!("GET {url}: got status {status}, expected 200 to 299"));
        assert_eq!(found, failure_class);
        let dir = tempfile::tempdir().unwrap();
        let mut job = job(dir.path(), &url);
        job.request.expect = vec![status[..3].parse().unwrap()];
        assert_eq!(send(job).await.exit, WorkExit::Completed);
    }
}

#[tokio::test]
async fn an_error_says_when_to_try_again() {
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (status, header, seconds) in [
        ("429 Too Many Requests", "2", Some(2)),
        ("503 Service Unavailable", DATE, Some(37)),
        ("409 Conflict", "31536000", Some(31_536_000)),
        ("503 Service Unavailable", "soon", None),
        ("200 OK", "2", None),
    ] {
        let (port, _) = serve(move |_| reply(status, &format!("Retry-After: {header}\r\n"), "sorry"));
        let dir = tempfile::tempdir().unwrap();
        let mut job = job(dir.path(), &format!("http://127.0.0.1:{port}/"));
        job.log.clock = Arc::new(FixedClock(Moment::from_millis(784_111_740_000)));
        let finished = send(job).await;
        assert_eq!(finished.retry_after, seconds.map(Duration::from_secs), "{status} {header}");
        let told = finished.exit.to_string();
        assert_eq!(told.contains("(`retry-after`)"), seconds.is_some(), "{told}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_says_why() {
    use FailureClass::{Environmental, Logical};
    let none = |_: &mut HttpJob| {};
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (failure_class, reason) = fails(none, &format!("http://{closed}/")).await;
    assert!(failure_class == Environmental && reason.contains("cannot connect"), "{reason}");
    let (failure_class, reason) = fails(none, "http://no-such-host.invalid/").await;
    assert!(failure_class == Environmental && reason.contains("not known"), "{reason}");
    for (url, part) in [("nonsense", "not a URL"), ("file:///etc/passwd", "neither http nor https")] {
        let (failure_class, reason) = fails(none, url).await;
        assert!(failure_class == Logical && reason.contains(part), "{reason}");
    }
    let header = |job: &mut HttpJob| job.request.headers = vec![("A".into(), "x\ny hunter22".into())];
    let (failure_class, reason) = fails(header, "http://127.0.0.1:1/").await;
    assert!(
        failure_class == Logical && reason.contains("header `A`") && !reason.contains("hunter22"),
        "{reason}"
    );
    let (port, _) = serve(|_| "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort".into());
    let (failure_class, reason) = fails(none, &format!("http://127.0.0.1:{port}/")).await;
    assert!(failure_class == Environmental && reason.contains("connection lost"), "{reason}");
}

#[tokio::test]
async fn outputs_must_be_there() {
    for (body, part) in [
        ("no json", "the response is not JSON"),
        ("{}", "$.data.rows selects 0 values"),
        (r#"{"data":{"rows":"x"}}"#, "output `rows`"),
    ] {
        let (port, _) = serve(move |_| reply("200 OK", "", body));
        let (failure_class, reason) = fails(wants_rows, &format!("http://127.0.0.1:{port}/")).await;
        assert!(failure_class == FailureClass::Logical && reason.contains(part), "{reason}");
    }
}

#[tokio::test]
async fn a_reason_quotes_no_secret() {
    let (port, _) = serve(|_| reply("200 OK", "", r#"{"data":{"rows":"hunter22"}}"#));
    let (_, reason) = fails(wants_rows, &format!("http://127.0.0.1:{port}/")).await;
    assert!(reason.contains("output `rows`"), "{reason}");
    assert!(!reason.contains("hunter22"), "{reason}");
}

#[tokio::test]
async fn time_and_cancellation_end_a_request() {
    let (port, _) = serve(|_| {
        std::thread::sleep(Duration::from_millis(500));
        String::new()
    });
    let dir = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{port}/");
    let mut short = job(dir.path(), &url);
    short.timeout = Some(Duration::from_millis(50));
    assert_eq!(send(short).await.exit, WorkExit::TimedOut);
    let (tell, stop) = watch::channel(StopLevel::No);
    let client = HttpClient::new(&HostEnv::new());
    let (finished, ()) = tokio::join!(client.run_job(job(dir.path(), &url), stop, None), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        tell.send_replace(StopLevel::Gently);
    });
    assert_eq!(finished.exit, WorkExit::Cancelled);
}

#[tokio::test]
async fn a_large_answer_is_bounded() {
    let (port, _) = serve(|_| reply("200 OK", "", &"x".repeat(17 << 20)));
    let url = format!("http://127.0.0.1:{port}/");
    let dir = tempfile::tempdir().unwrap();
    let finished = send(job(dir.path(), &url)).await;
    assert_eq!(finished.exit, WorkExit::Completed);
    let kept = std::fs::metadata(dir.path().join("get.1.log")).unwrap().len();
    assert!(kept < 1100, "{kept}");
    let (failure_class, reason) = fails(wants_rows, &url).await;
    assert!(failure_class == FailureClass::Logical && reason.contains("exceeds 16 MiB"), "{reason}");
}

#[tokio::test]
async fn redirections_are_followed_with_care() {
    let (end, asked) = serve(|_| reply("200 OK", "", "there"));
    let (port, _) = serve(move |request| match request.split(' ').nth(1) {
        Some("/loop") => reply("302 Found", "Location: /loop\r\n", ""),
        _ => reply("302 Found", &format!("Location: http://127.0.0.1:{end}/\r\n"), ""),
    });
    let url = format!("http://127.0.0.1:{port}/");
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(send(job(dir.path(), &url)).await.exit, WorkExit::Completed);
    let (_, reason) = fails(|_| {}, &format!("{url}loop")).await;
    assert!(reason.contains("more than 10 redirects"), "{reason}");
    let before = asked.lock().unwrap().len();
    let secret = |job: &mut HttpJob| job.request.headers = vec![("X-Token".into(), "hunter22".into())];
    let (_, reason) = fails(secret, &url).await;
    assert!(reason.contains("would send a secret there"), "{reason}");
    assert_eq!(asked.lock().unwrap().len(), before);
}

#[tokio::test]
async fn proxies_are_those_that_steps_may_see() {
    let (port, asked) = serve(|_| reply("200 OK", "", "by proxy"));
    let proxy = format!("http://127.0.0.1:{port}");
    let passed = HostEnv::from([("HTTP_PROXY".into(), proxy), ("NO_PROXY".into(), "direct.invalid".into())]);
    let client = HttpClient::new(&passed);
    let dir = tempfile::tempdir().unwrap();
    let stop = watch::channel(StopLevel::No).1;
    let by_proxy = client.run_job(job(dir.path(), "http://far.invalid/"), stop.clone(), None).await;
    assert_eq!(by_proxy.exit, WorkExit::Completed);
    assert!(asked.lock().unwrap()[0].starts_with("GET http://far.invalid/ "));
    let direct = client.run_job(job(dir.path(), "http://direct.invalid/"), stop, None).await;
    assert!(!direct.exit.is_success());
}
