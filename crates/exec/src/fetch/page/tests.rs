use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::{FetchedPage, fetch_page};
use crate::{fetch::FetchTarget, work_error::StopLevel};
use wf_model::FetchHost;

/// A server that gives each request the answer of its path, and keeps the requests that it got.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

#[expect(clippy::disallowed_methods, reason = "the other side of the wire")]
fn serve(answer: impl Fn(&str, SocketAddr) -> Vec<u8> + Send + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                request.push(byte[0]);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            kept.lock().unwrap().push(request);
            let answer = answer(&path, address);
            // One that goes on is read as far as it is wanted.
            let _ = stream.write_all(&answer);
            if path == "/slow" {
                std::thread::sleep(Duration::from_secs(20));
            }
        }
    });
    Server { address, requests }
}

fn page(kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .into_bytes()
}

async fn fetched(server: &Server, path: &str, time: Duration) -> FetchedPage {
    let hosts = [FetchHost::parse(&format!("http://{}", server.address)).unwrap()];
    let target = FetchTarget::parse(&format!("http://{}{path}", server.address), &hosts).unwrap();
    fetch_page(&target, Some(time), watch::channel(StopLevel::No).1).await
}

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn pages_are_text() {
    let server = serve(|path, _| match path {
        "/html" => page("text/html; charset=utf-8", b"<h1>Hello</h1><script>x</script><p>you"),
        "/json" => page("application/problem+json", b"{\"a\": 1}"),
        "/invalid" => page("text/plain", b"a\xff\xfeb\xc3"),
        "/binary" => page("image/png", b"\x89PNG"),
        "/nul" => page("text/plain", b"a\0b"),
        "/zip" => [
            &b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\n"[..],
            b"content-length: 1\r\n\r\nx",
        ]
        .concat(),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\ngone".to_vec(),
    });
    for (path, text, is_error) in [
        ("/html", "Hello\n\nyou", false),
        ("/json", "{\"a\": 1}", false),
        (
            "/invalid",
            "a\u{fffd}\u{fffd}b\u{fffd}\n[3 places are not UTF-8, and are shown as \u{fffd}]",
            false,
        ),
        ("/binary", "it is `image/png`, and only text can be read (status 200 OK)", true),
        ("/nul", "it is no text: it contains NUL bytes", true),
        ("/zip", "the page is compressed with `gzip`, which was not asked for", true),
        ("/none", "status 404 Not Found\ngone", true),
    ] {
        let page = fetched(&server, path, LONG).await;
        assert!(page.is_error == is_error && page.text.ends_with(text), "{path}: {page:?}");
    }
    let requests = server.requests.lock().unwrap();
    for request in requests.iter() {
        let lower = request.to_lowercase();
        assert!(request.starts_with("GET /"), "{request}");
        assert!(!lower.contains("cookie") && !lower.contains("authorization"), "{request}");
    }
}

#[tokio::test]
async fn redirects_stay_on_the_host() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let elsewhere = other.local_addr().unwrap();
    let server = serve(move |path, own| match path {
        "/a" => redirect("/b?c"),
        "/whole" => redirect(&format!("http://{own}/b?c")),
        "/b?c" => page("text/plain", b"arrived"),
        "/loop" => redirect("/loop"),
        "/port" => redirect(&format!("http://{elsewhere}/")),
        "/name" => redirect("http://localhost:1/"),
        "/file" => redirect("file:///etc/passwd"),
        "/user" => redirect(&format!("http://user:key@{own}/b?c")),
        _ => redirect("https://evil.example/?secret"),
    });
    assert_eq!(fetched(&server, "/a", LONG).await, FetchedPage { text: "arrived".into(), is_error: false });
    assert_eq!(fetched(&server, "/whole", LONG).await.text, "arrived");
    assert!(fetched(&server, "/loop", LONG).await.text.ends_with("more than 5 redirects"));
    for path in ["/port", "/name", "/file", "/user", "/else"] {
        let page = fetched(&server, path, LONG).await;
        assert!(page.is_error && page.text.contains("which is not on the same host"), "{path}: {page:?}");
    }
    assert!(other.accept().is_err(), "another host was connected to");
}

#[tokio::test]
async fn time_and_size_are_bounded() {
    let server = serve(|path, _| match path {
        "/slow" => {
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nbegin".to_vec()
        }
        _ => page("text/plain", &vec![b'x'; 8 << 20]),
    });
    let began = Instant::now();
    let slow = fetched(&server, "/big", LONG).await;
    assert!(slow.is_error && slow.text.ends_with("it is larger than 2 MiB"), "{slow:?}");
    let slow = fetched(&server, "/slow", Duration::from_millis(300)).await;
    assert!(slow.is_error && slow.text.ends_with("no whole answer within 0.3 s"), "{slow:?}");
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn a_call_that_is_told_to_end_ends() {
    let server = serve(|_, _| b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n".to_vec());
    let hosts = [FetchHost::parse(&format!("http://{}", server.address)).unwrap()];
    let target = FetchTarget::parse(&format!("http://{}/slow", server.address), &hosts).unwrap();
    let (sender, stop) = watch::channel(StopLevel::No);
    let stops = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender.send(StopLevel::Gently).unwrap();
    };
    let ((), page) = tokio::join!(stops, fetch_page(&target, None, stop));
    assert!(page.text.ends_with("the call was stopped"), "{page:?}");
}

#[tokio::test]
async fn nobody_there_is_told() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server { address: closed, requests: Arc::default() };
    let page = fetched(&server, "/", LONG).await;
    assert!(page.is_error && page.text.contains("refused"), "{page:?}");
}
