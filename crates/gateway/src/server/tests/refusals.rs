use hyper::{
    Method, StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::served::{ServedCalls, body};
use crate::{
    server::{CallRefusal, ClientApi, ClientToken, body::MAX_BODY, route::ClientRoute},
    wire::read_error_body,
};

const CALLS: [&str; 3] = ["/v1/messages", "/v1/chat/completions", "/v1/responses"];

/// Finds a route with some headers, in which `TOKEN` is the token.
fn find(headers: &[(&str, &str)]) -> Result<ClientRoute, CallRefusal> {
    let token = ClientToken::random().unwrap();
    let mut all = HeaderMap::new();
    for (name, value) in headers {
        let value = value.replace("TOKEN", token.expose());
        all.append(name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap());
    }
    ClientRoute::find_route(&Method::POST, "/v1/messages", &all, &token)
}

#[test]
fn only_the_token_alone_is_let_in() {
    for headers in [
        &[("x-api-key", "TOKEN")][..],
        &[("authorization", "Bearer TOKEN")],
        &[("authorization", "bearer  TOKEN")],
        &[("x-api-key", "TOKEN"), ("authorization", "Bearer TOKEN")],
    ] {
        assert_eq!(find(headers), Ok(ClientRoute::Call(ClientApi::Anthropic)), "{headers:?}");
    }
    for headers in [
        &[][..],
        &[("x-api-key", "")],
        &[("x-api-key", "TOKE")],
        &[("x-api-key", "TOKENx")],
        &[("x-api-key", "é")],
        &[("authorization", "TOKEN")],
        &[("authorization", "Basic TOKEN")],
        &[("x-api-key", "TOKEN"), ("authorization", "Bearer sk-other")],
        &[("x-api-key", "TOKEN"), ("x-api-key", "sk-other")],
        &[("authorization", "Bearer TOKEN"), ("x-api-key", "sk-other")],
        &[("authorization", "Bearer TOKEN"), ("proxy-authorization", "Basic x")],
        &[("authorization", "Bearer TOKEN"), ("api-key", "other")],
    ] {
        let refusal = find(headers).unwrap_err();
        assert_eq!(refusal.status, 401, "{headers:?}");
        assert!(refusal.reason.contains("token"), "{}", refusal.reason);
    }
}

#[test]
fn a_token_is_long_random_and_hidden() {
    let (one, two) = (ClientToken::random().unwrap(), ClientToken::random().unwrap());
    assert_eq!(one.expose().len(), 64);
    assert_ne!(one.expose(), two.expose());
    assert_eq!(format!("{one:?}"), "ClientToken([token])");
}

/// Checks that a response is a refusal, and returns its message.
async fn refusal(response: reqwest::Response, status: StatusCode) -> String {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/json");
    read_error_body(&response.bytes().await.unwrap()).message
}

#[tokio::test]
async fn each_refusal_says_what_is_wrong() {
    let served = ServedCalls::start(0).await;
    for path in CALLS {
        let url = format!("{}{path}", served.base_url);
        let without = served.client.post(&url).body(body("x", false)).send().await.unwrap();
        let message = refusal(without, StatusCode::UNAUTHORIZED).await;
        assert!(message.starts_with("there is no token"), "{message}");
        let other =
            served.post(path, body("x", false)).header("authorization", "Bearer sk-mine").send().await;
        let message = refusal(other.unwrap(), StatusCode::UNAUTHORIZED).await;
        assert!(message.starts_with("this token is not the one of the attempt"), "{message}");
        let got = served.client.get(&url).header("x-api-key", &served.token).send().await.unwrap();
        assert_eq!(got.headers()["allow"], "POST");
        let message = refusal(got, StatusCode::METHOD_NOT_ALLOWED).await;
        assert_eq!(message, format!("{path} is not for GET: use POST"));
        for (sent, expected) in [
            ("{".into(), "the request is not JSON: "),
            ("{}".into(), "the request lacks `model`"),
            (r#"{"model":"m"}"#.into(), "the request lacks `"),
            (String::new(), "the request is not JSON: "),
        ] {
            let message =
                refusal(served.post(path, sent).send().await.unwrap(), StatusCode::BAD_REQUEST).await;
            assert!(message.starts_with(expected), "{message}");
        }
        let message =
            refusal(served.post(path, &b"{\xff"[..]).send().await.unwrap(), StatusCode::BAD_REQUEST).await;
        assert_eq!(message, "the body is not UTF-8 at byte 1");
        let packed = served.post(path, "x").header("content-encoding", "zstd").send().await.unwrap();
        let message = refusal(packed, StatusCode::UNSUPPORTED_MEDIA_TYPE).await;
        assert_eq!(message, "the body is encoded as \"zstd\": send it plain");
    }
    let lost = served.post("/v1/files", "{}").send().await.unwrap();
    let message = refusal(lost, StatusCode::NOT_FOUND).await;
    assert!(message.starts_with("there is no \"/v1/files\" here: use POST /v1/messages, "), "{message}");
    assert_eq!(served.calls.begun.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_long_body_is_refused() {
    let served = ServedCalls::start(1).await;
    let long = |length: usize| body(&"x".repeat(length - body("", false).len() / 2), false);
    // The text is in the body twice.
    let over = served.post("/v1/messages", long(MAX_BODY / 2 + 100)).send().await.unwrap();
    let message = refusal(over, StatusCode::PAYLOAD_TOO_LARGE).await;
    assert_eq!(message, "the body is longer than 32 MiB: send less of the conversation");
    let fits = served.post("/v1/messages", long(MAX_BODY / 2 - 100)).send().await.unwrap();
    assert_eq!(fits.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_client_can_look_around() {
    let served = ServedCalls::start(0).await;
    // Claude Code begins with this, without a token.
    let ready = served.client.head(format!("{}/", served.base_url)).send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::OK);
    let models = served.client.get(format!("{}/v1/models?x=y", served.base_url)).bearer_auth(&served.token);
    let models = models.send().await.unwrap().text().await.unwrap();
    assert_eq!(models, r#"{"object":"list","data":[],"models":[]}"#);
    let counted = served.post("/v1/messages/count_tokens?beta=true", body(&"word ".repeat(400), false));
    let counted = counted.send().await.unwrap().text().await.unwrap();
    let count = counted.strip_prefix("{\"input_tokens\":").and_then(|rest| rest.strip_suffix('}')).unwrap();
    assert!((400..800).contains(&count.parse::<u64>().unwrap()), "{counted}");
}

#[tokio::test]
async fn a_body_may_come_in_pieces() {
    let served = ServedCalls::start(1).await;
    let text = body("Grüße 🦀", false);
    let mut stream = TcpStream::connect(served.base_url.trim_start_matches("http://")).await.unwrap();
    let token = &served.token;
    let head = format!(
        "POST /chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    for piece in text.as_bytes().chunks(7) {
        stream.write_all(piece).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("Grüße 🦀"), "{answer}");
}
