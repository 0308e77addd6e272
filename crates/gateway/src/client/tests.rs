use std::{collections::BTreeMap, time::Duration};

use wf_base::time::Moment;
use wf_core::agent::{ModelReply, ModelRequest};
use wf_model::{ModelApi, TokenUsage};

use super::{
    BadBaseUrl, BadModelKey, ClientLimits, FailedSend, ModelKey, ProviderAddress, ProviderCall,
    ProviderClient,
};
use crate::{
    retry::{CallFailureClass, ModelFailureKind},
    tests::{CannedReply, TestServer, request},
};

const KEY: &str = "sk-very-secret";

/// Sends a call to a server and returns the result with the time that it may take and be silent.
async fn send_within(
    api: ModelApi,
    base_url: &str,
    timeout: Duration,
    idle: Duration,
) -> Result<ModelReply, FailedSend> {
    let limits = ClientLimits { idle, ..ClientLimits::default() };
    let client = ProviderClient::new(&BTreeMap::new(), limits);
    let request: ModelRequest = request("go");
    let (address, key) = (ProviderAddress::new(api, Some(base_url)).unwrap(), ModelKey::new(KEY).unwrap());
    let call = ProviderCall {
        api,
        address: &address,
        model: "m-1",
        key: Some(&key),
        request: &request,
        max_output: 100,
        timeout,
        now: Moment::default(),
    };
    client.send(&call).await
}

async fn send(api: ModelApi, reply: CannedReply) -> Result<ModelReply, FailedSend> {
    let server = TestServer::start(vec![reply]).await;
    let long = Duration::from_secs(20);
    send_within(api, &server.base_url, long, long).await
}

/// Checks the failure of a chat.
async fn check(reply: CannedReply, kind: ModelFailureKind, message: &str) -> FailedSend {
    let failed = send(ModelApi::Openai, reply).await.unwrap_err();
    assert_eq!(failed.failure.kind, kind, "{failed:?}");
    assert!(failed.failure.message.contains(message), "{failed:?}");
    assert!(!failed.failure.message.contains(KEY), "{failed:?}");
    failed
}

const FIRST: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"Gr\xc3";
const SECOND: &[u8] = b"\xbcn \xf0\x9d";
const THIRD: &[u8] = b"\x84\x9e\"}}]}\r";
const FOURTH: &[u8] =
    b"\n\r\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn a_stream_may_be_cut_within_a_character() {
    let reply = send(ModelApi::Openai, CannedReply::stream(&[FIRST, SECOND, THIRD, FOURTH])).await;
    assert_eq!(reply.unwrap().text, "Grün 𝄞");
}

#[tokio::test]
async fn a_stream_ends_with_its_last_event() {
    let mut reply = CannedReply::stream(&[FIRST, SECOND, THIRD, FOURTH]);
    reply.hangs = true;
    assert_eq!(send(ModelApi::Openai, reply).await.unwrap().text, "Grün 𝄞");
}

#[tokio::test]
async fn each_format_has_its_path_and_its_headers() {
    let text = r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}
        {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}
        {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}
        {"type":"message_stop"}"#;
    let stream: String = text.lines().map(|line| format!("event: x\ndata: {}\n\n", line.trim())).collect();
    let server = TestServer::start(vec![CannedReply::stream(&[stream.as_bytes()])]).await;
    let long = Duration::from_secs(20);
    let reply = send_within(ModelApi::Anthropic, &server.base_url, long, long).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.input, reply.usage.output), ("hi", 5, 2));
    let seen = server.requests().remove(0);
    assert!(seen.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("x-api-key: {KEY}\r\n")), "{seen}");
    assert!(seen.contains("anthropic-version: 2023-06-01\r\n") && !seen.contains("authorization"), "{seen}");
    assert!(
        seen.contains("content-type: application/json\r\n") && seen.contains(r#""stream":true"#),
        "{seen}"
    );
}

#[tokio::test]
async fn a_cut_stream_is_transient_and_billed() {
    let failed = check(
        CannedReply::stream(&[FIRST, SECOND, THIRD, b"\n\r\n"]),
        ModelFailureKind::BrokenStream,
        "before the reply was complete",
    )
    .await;
    assert_eq!(failed.failure.class(), CallFailureClass::Transient);
    assert_eq!((failed.usage.input, failed.usage.output), (3, 2));
    // A connection that is lost before the length that was promised.
    let mut short = CannedReply::whole("200 OK", "content-type: application/json\r\n", "{\"choices\":[");
    short.pieces =
        vec![b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{".into()];
    check(short, ModelFailureKind::BrokenStream, "broke off").await;
}

#[tokio::test]
async fn a_redirect_is_refused() {
    let target = TestServer::start(vec![CannedReply::whole("200 OK", "", "{}")]).await;
    let headers = format!("location: {}/v1/x\r\n", target.base_url);
    for status in ["301 Moved Permanently", "307 Temporary Redirect"] {
        let reply = CannedReply::whole(status, &headers, "");
        let failed = check(reply, ModelFailureKind::Redirected, &target.base_url).await;
        assert_eq!(failed.failure.class(), CallFailureClass::Permanent);
    }
    assert_eq!(target.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn a_huge_reply_is_cut_off() {
    let piece = [b": ".to_vec(), vec![b'x'; 65_533], b"\n".to_vec()].concat();
    let mut comments = CannedReply::stream(&[&piece]);
    comments.repeat = 1_600;
    let failed = check(comments, ModelFailureKind::ReplyTooLarge, "exceeds 8.0 MiB").await;
    assert_eq!(failed.failure.class(), CallFailureClass::Permanent);
    let mut event = CannedReply::stream(&[b"data: ", &vec![b'x'; 65_536]]);
    event.repeat = 1_600;
    check(event, ModelFailureKind::ReplyTooLarge, "8").await;
    let mut whole = CannedReply::whole("200 OK", "", "");
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    (whole.pieces, whole.repeat) = (vec![head.to_vec(), vec![b' '; 65_536]], 1_600);
    check(whole, ModelFailureKind::ReplyTooLarge, "exceeds 8.0 MiB").await;
    let mut error = CannedReply::whole("400 Bad Request", "", "");
    let head = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    (error.pieces, error.repeat) = (vec![head, vec![b'x'; 65_536]], 1_600);
    check(error, ModelFailureKind::Rejected, "status 400").await;
}

#[tokio::test]
async fn a_reply_must_be_text_in_the_format() {
    let bytes = CannedReply::stream(&[b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n"]);
    check(bytes, ModelFailureKind::BadReply, "not valid UTF-8").await;
    let mut whole = CannedReply::whole("200 OK", "content-type: application/json\r\n", "");
    whole.pieces = vec![b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"\xff\"}".into()];
    check(whole, ModelFailureKind::BadReply, "not valid UTF-8 (at byte 2)").await;
    let page = CannedReply::whole("200 OK", "content-type: text/html\r\n", "<html>");
    check(page, ModelFailureKind::BadReply, "a web page").await;
    let json = CannedReply::whole("200 OK", "content-type: application/json\r\n", "{}");
    check(json, ModelFailureKind::BadReply, "lacks `choices`").await;
}

#[tokio::test]
async fn an_error_is_told_without_the_key() {
    let body = format!(r#"{{"error":{{"message":"Incorrect API key: {KEY}","code":"invalid_api_key"}}}}"#);
    let failed = check(
        CannedReply::whole("401 Unauthorized", "", &body),
        ModelFailureKind::Unauthorized,
        "(\"Incorrect API key: [key]\"): the provider does not accept the key",
    )
    .await;
    assert_eq!(failed.usage, TokenUsage::default());
}

#[tokio::test]
async fn silence_and_slowness_end() {
    let (short, long) = (Duration::from_millis(150), Duration::from_secs(20));
    let mut silent = CannedReply::stream(&[FIRST]);
    silent.hangs = true;
    let server = TestServer::start(vec![silent]).await;
    let idle = send_within(ModelApi::Openai, &server.base_url, long, short).await.unwrap_err();
    assert_eq!(idle.failure.kind, ModelFailureKind::TimedOut);
    assert!(idle.failure.message.contains("nothing for 0.15 s"), "{idle:?}");
    let total = send_within(ModelApi::Openai, &server.base_url, short, long).await.unwrap_err();
    assert_eq!(total.failure.kind, ModelFailureKind::TimedOut);
    assert!(total.failure.message.contains("within 0.15 s"), "{total:?}");
}

#[tokio::test]
async fn a_server_that_is_gone_is_unreachable() {
    let base_url = TestServer::start(Vec::new()).await.base_url.clone();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let long = Duration::from_secs(20);
    let failed = send_within(ModelApi::Openai, &base_url, long, long).await.unwrap_err();
    assert_eq!(failed.failure.kind, ModelFailureKind::Unreachable, "{failed:?}");
    assert!(failed.failure.message.contains(&base_url), "{failed:?}");
}

#[test]
fn an_address_is_checked() {
    let own = |api| ProviderAddress::new(api, None).unwrap().url().to_string();
    assert_eq!(own(ModelApi::Anthropic), "https://api.anthropic.com/v1/messages");
    assert_eq!(own(ModelApi::Openai), "https://api.openai.com/v1/chat/completions");
    assert_eq!(own(ModelApi::OpenaiResponses), "https://api.openai.com/v1/responses");
    let chat = |base: &str| ProviderAddress::new(ModelApi::Openai, Some(base));
    for (base, url, is_inventor) in [
        ("https://api.openai.com", "https://api.openai.com/v1/chat/completions", true),
        (
            "https://x.openai.azure.com/openai/v1/",
            "https://x.openai.azure.com/openai/v1/chat/completions",
            true,
        ),
        ("https://host/api/v1", "https://host/api/v1/chat/completions", false),
        ("http://localhost:8080", "http://localhost:8080/v1/chat/completions", false),
        ("http://[::1]/v1", "http://[::1]/v1/chat/completions", false),
        ("http://127.9.9.9/v1", "http://127.9.9.9/v1/chat/completions", false),
        (
            "https://api.openai.com.evil.example",
            "https://api.openai.com.evil.example/v1/chat/completions",
            false,
        ),
    ] {
        let address = chat(base).unwrap();
        assert_eq!((address.url().as_str(), address.is_inventor()), (url, is_inventor), "{base}");
    }
    for (base, error) in [
        ("", BadBaseUrl::Address),
        ("host/v1", BadBaseUrl::Address),
        ("ftp://host", BadBaseUrl::Scheme("ftp".into())),
        ("http://host", BadBaseUrl::Unencrypted("host".into())),
        ("http://10.0.0.1", BadBaseUrl::Unencrypted("10.0.0.1".into())),
        ("http://localhost.example", BadBaseUrl::Unencrypted("localhost.example".into())),
        ("http://127.0.0.1.example", BadBaseUrl::Unencrypted("127.0.0.1.example".into())),
        ("http://127.0.0.1@host", BadBaseUrl::Unencrypted("host".into())),
        ("https://user@host", BadBaseUrl::Credentials),
        ("https://:word@host", BadBaseUrl::Credentials),
        ("https://host/?a=1", BadBaseUrl::Query),
        ("https://host/#a", BadBaseUrl::Query),
    ] {
        assert_eq!(chat(base), Err(error), "{base}");
    }
    let anthropic = |base| ProviderAddress::new(ModelApi::Anthropic, Some(base)).unwrap().url().to_string();
    assert_eq!(anthropic("https://proxy/a/v1/"), "https://proxy/a/v1/messages");
    assert_eq!(anthropic("https://proxy/a"), "https://proxy/a/v1/messages");
}

#[test]
fn a_key_fits_into_a_header_and_is_not_shown() {
    assert_eq!(format!("{:?}", ModelKey::new(KEY).unwrap()), "ModelKey([key])");
    assert_eq!(ModelKey::new(""), Err(BadModelKey::Empty));
    for text in ["a b", "a\n", "a\r\nx-other: 1", "ä"] {
        assert_eq!(ModelKey::new(text), Err(BadModelKey::Character), "{text:?}");
    }
}
