use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use super::{Ask, Client, Job};
use crate::exec::{Host, Stop, log};
use crate::machine::Exit;
use crate::mask::Mask;
use crate::model::{Class, Object, Output, Schema};
use crate::name::Name;
use crate::time::SystemClock;

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
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{more}\r\n{body}"
    )
}

fn job(dir: &Path, url: &str) -> Job {
    Job {
        ask: Ask {
            method: "GET".into(),
            url: url.into(),
            headers: Vec::new(),
            body: None,
            expect: Vec::new(),
            outputs: Vec::new(),
            careful: false,
        },
        timeout: Some(Duration::from_secs(5)),
        log: log::Target {
            path: dir.join("get.1.log"),
            limit: 1000,
            mask: Mask::new(["hunter22"]),
            clock: Arc::new(SystemClock),
        },
        outputs: Vec::new(),
    }
}

async fn send(job: Job) -> (Exit, Object) {
    Client::new(&Host::new())
        .run(job, watch::channel(Stop::No).1, None)
        .await
}

/// The class and the reason of a request that must fail.
async fn fails(change: impl FnOnce(&mut Job), url: &str) -> (Class, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(dir.path(), url);
    change(&mut job);
    match send(job).await.0 {
        Exit::Unable { why, class } => (class, why),
        other => panic!("{url}: {other:?}"),
    }
}

fn rows() -> Output {
    Output {
        name: Name::parse("rows").unwrap(),
        schema: Schema::new(json!({ "type": "integer" })).unwrap(),
    }
}

fn wants_rows(job: &mut Job) {
    job.ask.outputs = vec![(Name::parse("rows").unwrap(), "$.data.rows".into())];
    job.outputs = vec![rows()];
}

#[tokio::test]
async fn an_answer_is_kept_and_read() {
    let (port, asked) =
        serve(|_| reply("201 Created", "", r#"{"data":{"rows":3},"t":"hunter22"}"#));
    let dir = tempfile::tempdir().unwrap();
    let mut job = job(dir.path(), &format!("http://127.0.0.1:{port}/x?y=1"));
    job.ask.method = "POST".into();
    job.ask.headers = vec![("X-Token".into(), "hunter22".into())];
    job.ask.body = Some("hello".into());
    wants_rows(&mut job);
    let finished = send(job).await;
    assert_eq!(finished.0, Exit::Done);
    assert_eq!(json!(finished.1), json!({ "rows": 3 }));
    let kept = std::fs::read_to_string(dir.path().join("get.1.log")).unwrap();
    assert_eq!(kept, r#"{"data":{"rows":3},"t":"***"}"#);
    let request = asked.lock().unwrap().concat();
    assert!(request.starts_with("POST /x?y=1 HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains("x-token: hunter22\r\n") && request.ends_with("hello"),
        "{request}"
    );
}

#[tokio::test]
async fn a_status_that_was_not_asked_for_fails() {
    for (status, class) in [
        ("404 Not Found", Class::Logical),
        ("429 Too Many Requests", Class::Environmental),
        ("503 Service Unavailable", Class::Environmental),
    ] {
        let (port, _) = serve(move |_| reply(status, "", "sorry"));
        let url = format!("http://127.0.0.1:{port}/");
        let (found, why) = fails(|_| {}, &url).await;
        assert_eq!(why, format!("GET {url} answered {status}, not 200 to 299"));
        assert_eq!(found, class);
        let dir = tempfile::tempdir().unwrap();
        let mut job = job(dir.path(), &url);
        job.ask.expect = vec![status[..3].parse().unwrap()];
        assert_eq!(send(job).await.0, Exit::Done);
    }
}

#[tokio::test]
async fn what_cannot_be_sent_says_why() {
    use Class::{Environmental, Logical};
    let none = |_: &mut Job| {};
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (class, why) = fails(none, &format!("http://{closed}/")).await;
    assert!(
        class == Environmental && why.contains("no connection"),
        "{why}"
    );
    let (class, why) = fails(none, "http://no-such-host.invalid/").await;
    assert!(class == Environmental && why.contains("not known"), "{why}");
    for (url, part) in [
        ("nonsense", "not a URL"),
        ("file:///etc/passwd", "neither http nor https"),
    ] {
        let (class, why) = fails(none, url).await;
        assert!(class == Logical && why.contains(part), "{why}");
    }
    let header = |job: &mut Job| job.ask.headers = vec![("A".into(), "x\ny hunter22".into())];
    let (class, why) = fails(header, "http://127.0.0.1:1/").await;
    assert!(
        class == Logical && why.contains("header `A`") && !why.contains("hunter22"),
        "{why}"
    );
    let (port, _) = serve(|_| "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort".into());
    let (class, why) = fails(none, &format!("http://127.0.0.1:{port}/")).await;
    assert!(
        class == Environmental && why.contains("connection broke"),
        "{why}"
    );
}

#[tokio::test]
async fn outputs_must_be_there() {
    for (body, part) in [
        ("no json", "the answer is not JSON"),
        ("{}", "$.data.rows selects 0 values"),
        (r#"{"data":{"rows":"x"}}"#, "output `rows`"),
    ] {
        let (port, _) = serve(move |_| reply("200 OK", "", body));
        let (class, why) = fails(wants_rows, &format!("http://127.0.0.1:{port}/")).await;
        assert!(class == Class::Logical && why.contains(part), "{why}");
    }
}

#[tokio::test]
async fn a_reason_quotes_no_secret() {
    let (port, _) = serve(|_| reply("200 OK", "", r#"{"data":{"rows":"hunter22"}}"#));
    let (_, why) = fails(wants_rows, &format!("http://127.0.0.1:{port}/")).await;
    assert!(why.contains("output `rows`"), "{why}");
    assert!(!why.contains("hunter22"), "{why}");
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
    assert_eq!(send(short).await.0, Exit::TimedOut);
    let (tell, stop) = watch::channel(Stop::No);
    let client = Client::new(&Host::new());
    let (finished, ()) = tokio::join!(client.run(job(dir.path(), &url), stop, None), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        tell.send_replace(Stop::Gently);
    });
    assert_eq!(finished.0, Exit::Cancelled);
}

#[tokio::test]
async fn a_large_answer_is_bounded() {
    let (port, _) = serve(|_| reply("200 OK", "", &"x".repeat(17 << 20)));
    let url = format!("http://127.0.0.1:{port}/");
    let dir = tempfile::tempdir().unwrap();
    let finished = send(job(dir.path(), &url)).await;
    assert_eq!(finished.0, Exit::Done);
    let kept = std::fs::metadata(dir.path().join("get.1.log"))
        .unwrap()
        .len();
    assert!(kept < 1100, "{kept}");
    let (class, why) = fails(wants_rows, &url).await;
    assert!(
        class == Class::Logical && why.contains("at most 16 MiB"),
        "{why}"
    );
}

#[tokio::test]
async fn redirections_are_followed_with_care() {
    let (end, asked) = serve(|_| reply("200 OK", "", "there"));
    let (port, _) = serve(move |request| match request.split(' ').nth(1) {
        Some("/loop") => reply("302 Found", "Location: /loop\r\n", ""),
        _ => reply(
            "302 Found",
            &format!("Location: http://127.0.0.1:{end}/\r\n"),
            "",
        ),
    });
    let url = format!("http://127.0.0.1:{port}/");
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(send(job(dir.path(), &url)).await.0, Exit::Done);
    let (_, why) = fails(|_| {}, &format!("{url}loop")).await;
    assert!(why.contains("more than 10 redirections"), "{why}");
    let before = asked.lock().unwrap().len();
    let secret = |job: &mut Job| job.ask.headers = vec![("X-Token".into(), "hunter22".into())];
    let (_, why) = fails(secret, &url).await;
    assert!(why.contains("would take a secret there"), "{why}");
    assert_eq!(asked.lock().unwrap().len(), before);
}

#[tokio::test]
async fn proxies_are_those_that_steps_may_see() {
    let (port, asked) = serve(|_| reply("200 OK", "", "by proxy"));
    let proxy = format!("http://127.0.0.1:{port}");
    let passed = Host::from([
        ("HTTP_PROXY".into(), proxy),
        ("NO_PROXY".into(), "direct.invalid".into()),
    ]);
    let client = Client::new(&passed);
    let dir = tempfile::tempdir().unwrap();
    let stop = watch::channel(Stop::No).1;
    let by_proxy = client
        .run(job(dir.path(), "http://far.invalid/"), stop.clone(), None)
        .await;
    assert_eq!(by_proxy.0, Exit::Done);
    assert!(asked.lock().unwrap()[0].starts_with("GET http://far.invalid/ "));
    let direct = client
        .run(job(dir.path(), "http://direct.invalid/"), stop, None)
        .await;
    assert!(!direct.0.is_success());
}
