use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    time::{Instant, timeout},
};

use super::{DaemonHealth, HealthEndpoint, MAX_CONNECTIONS, REQUEST_TIMEOUT, address};

/// Serves while `ask` asks.
async fn serving<T>(
    health: DaemonHealth,
    ask: impl AsyncFnOnce(SocketAddr, watch::Sender<DaemonHealth>) -> T,
) -> T {
    let endpoint = HealthEndpoint::bind(address("127.0.0.1:0").unwrap()).await.unwrap();
    let (tell, receiver) = watch::channel(health);
    tokio::select! {
        never = endpoint.serve(receiver) => match never {},
        asked = ask(endpoint.address(), tell) => asked,
    }
}

/// Sends bytes as they are and returns the whole response.
async fn raw(at: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    // The server may have closed the connection.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let read = timeout(REQUEST_TIMEOUT * 4, stream.read_to_end(&mut answer)).await;
    let _ = read.expect("the connection is closed");
    String::from_utf8(answer).unwrap()
}

async fn get(at: SocketAddr, path: &str, more: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n{more}\r\n");
    raw(at, request.as_bytes()).await
}

fn status(answer: &str) -> &str {
    let line = answer.lines().next().unwrap_or_default();
    line.strip_prefix("HTTP/1.1 ")
        .or(line.strip_prefix("HTTP/1.0 "))
        .and_then(|rest| rest.get(..3))
        .unwrap_or("none")
}

#[tokio::test]
async fn says_how_it_goes_as_that_changes() {
    serving(DaemonHealth::default(), async |at, tell| {
        let well = get(at, "/healthz", "").await;
        assert_eq!(status(&well), "200");
        assert!(well.contains("connection: close") && well.contains("\"ok\":true"), "{well}");
        tell.send_modify(|health| health.waiting = Some("the state".into()));
        assert_eq!(status(&get(at, "/healthz", "").await), "200");
        let waits = get(at, "/readyz", "").await;
        assert_eq!(status(&waits), "503");
        assert!(waits.contains("\"waiting\":\"the state\""), "{waits}");
        tell.send_modify(|health| health.problem = Some("the disk is full".into()));
        for path in ["/healthz", "/readyz?verbose"] {
            let ill = get(at, path, "").await;
            assert_eq!(status(&ill), "503");
            assert!(ill.contains("the disk is full"), "{ill}");
        }
    })
    .await;
}

#[tokio::test]
async fn metrics_are_in_the_format_that_is_asked_for() {
    serving(DaemonHealth::default(), async |at, _tell| {
        let plain = get(at, "/metrics", "Accept: */*\r\n").await;
        assert!(plain.contains("content-type: text/plain; version=0.0.4"), "{plain}");
        assert!(plain.contains("\nwf_up 1\n") && !plain.contains("# EOF"), "{plain}");
        let accept = "Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2\r\n";
        let open = get(at, "/metrics", accept).await;
        assert!(open.contains("content-type: application/openmetrics-text"), "{open}");
        assert!(open.ends_with("# EOF\n"), "{open}");
    })
    .await;
}

#[tokio::test]
async fn a_head_has_no_body() {
    serving(DaemonHealth::default(), async |at, _tell| {
        let request = format!("HEAD /healthz HTTP/1.1\r\nHost: {at}\r\n\r\n");
        let answer = raw(at, request.as_bytes()).await;
        assert_eq!(status(&answer), "200");
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn what_is_not_for_it_is_refused() {
    serving(DaemonHealth::default(), async |at, _tell| {
        let host = "Host: localhost\r\n";
        let long = format!("GET /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(20_000));
        let many = format!("GET / HTTP/1.1\r\n{host}{}\r\n", "A: b\r\n".repeat(100));
        for (expected, request) in [
            ("421", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned()),
            ("421", "GET /healthz HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n".to_owned()),
            ("421", "GET /healthz HTTP/1.0\r\n\r\n".to_owned()),
            ("421", "GET /healthz HTTP/1.1\r\n\r\n".to_owned()),
            ("421", format!("GET /healthz HTTP/1.1\r\n{host}{host}\r\n")),
            ("421", format!("GET http://evil.example/healthz HTTP/1.1\r\n{host}\r\n")),
            ("405", format!("POST /healthz HTTP/1.1\r\n{host}Content-Length: 1\r\n\r\nx")),
            ("405", format!("DELETE /metrics HTTP/1.1\r\n{host}\r\n")),
            ("404", format!("GET / HTTP/1.1\r\n{host}\r\n")),
            ("404", format!("GET /healthz/../etc/passwd HTTP/1.1\r\n{host}\r\n")),
            ("431", long),
            ("431", many),
            ("400", "nonsense\r\n\r\n".to_owned()),
            ("400", format!("GET /healthz HTTP/1.1\r\n{host} folded\r\n\r\n")),
            ("400", format!("GET /healthz HTTP/1.1\r\n{host}Content-Length: x\r\n\r\n")),
        ] {
            let answer = raw(at, request.as_bytes()).await;
            let shown: String = request.chars().take(70).collect();
            assert_eq!(status(&answer), expected, "{shown:?}: {answer}");
        }
        let answer = raw(at, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").await;
        assert!(matches!(status(&answer), "400" | "none"), "{answer}");
        assert_eq!(status(&get(at, "/healthz", "").await), "200");
    })
    .await;
}

#[tokio::test]
async fn one_request_for_each_connection() {
    serving(DaemonHealth::default(), async |at, _tell| {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {at}\r\n\r\n");
        let answer = raw(at, request.repeat(3).as_bytes()).await;
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    })
    .await;
}

#[tokio::test]
async fn who_says_nothing_is_sent_away_and_others_get_their_turn() {
    serving(DaemonHealth::default(), async |at, _tell| {
        let mut idle = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            let mut stream = TcpStream::connect(at).await.unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nA: ").await.unwrap();
            idle.push(stream);
        }
        let began = Instant::now();
        assert_eq!(status(&get(at, "/healthz", "").await), "200");
        let took = began.elapsed();
        assert!(took > REQUEST_TIMEOUT / 2 && took < REQUEST_TIMEOUT * 3, "{took:?}");
        drop(idle);
        let began = Instant::now();
        assert_eq!(status(&get(at, "/healthz", "").await), "200");
        assert!(began.elapsed() < REQUEST_TIMEOUT);
    })
    .await;
}

#[tokio::test]
async fn a_place_that_is_taken_says_so() {
    let first = HealthEndpoint::bind(address("127.0.0.1:0").unwrap()).await.unwrap();
    let error = HealthEndpoint::bind(first.address()).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&first.address().to_string()), "{text}");
}
