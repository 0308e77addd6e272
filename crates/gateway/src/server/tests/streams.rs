use std::time::Duration;

use reqwest::StatusCode;
use wf_core::agent::{ModelReply, StopReason};
use wf_model::TokenUsage;

use super::served::{KEEP_ALIVE, ServedCalls, body};
use crate::{
    server::{CallRefusal, ClientApi},
    sse::{SseEvent, SseParser},
    wire::{WireError, decode_reply, open_stream, read_error_body},
};

const ALL: [(&str, ClientApi); 3] = [
    ("/v1/messages?beta=true", ClientApi::Anthropic),
    ("/v1/chat/completions", ClientApi::OpenaiChat),
    ("/responses", ClientApi::OpenaiResponses),
];

fn reply(text: &str, usage: TokenUsage) -> ModelReply {
    ModelReply { text: text.into(), tool_calls: Vec::new(), stop: StopReason::EndTurn, usage }
}

const USAGE: TokenUsage = TokenUsage { input: 5, cached_input: 2, cache_write: 0, output: 3 };

/// Reads a stream as the client of a provider does.
fn read(api: ClientApi, text: &str) -> Result<ModelReply, WireError> {
    let mut events: Vec<SseEvent> = Vec::new();
    SseParser::new(1_000_000).push(text.as_bytes(), &mut events).unwrap();
    let mut stream = open_stream(api.model_api());
    for event in events {
        stream.take(&event)?;
    }
    stream.finish()
}

#[tokio::test]
async fn replies_are_whole() {
    let served = ServedCalls::start(6).await;
    for (path, api) in ALL {
        let whole = served.post(path, body("Grüße", false)).send().await.unwrap();
        assert_eq!(whole.headers()["content-type"], "application/json");
        let text = whole.text().await.unwrap();
        assert_eq!(decode_reply(api.model_api(), &text), Ok(reply("Grüße", USAGE)));
        let streamed = served.post(path, body("Grüße", true)).send().await.unwrap();
        assert_eq!(streamed.headers()["content-type"], "text/event-stream");
        let text = streamed.text().await.unwrap();
        // Nobody asked for the usage of Chat Completions.
        let usage = if api == ClientApi::OpenaiChat { TokenUsage::default() } else { USAGE };
        assert_eq!(read(api, &text), Ok(reply("Grüße", usage)));
    }
    let asked = served.calls.asked.lock().unwrap();
    assert_eq!(asked.len(), 6);
    assert!(asked.iter().all(|one| one.model == "m"));
}

#[tokio::test]
async fn a_stream_lives_while_the_model_works() {
    let served = ServedCalls::start(0).await;
    for ((path, api), sign) in ALL.into_iter().zip(["event: ping\n", ": keep-alive\n", "event: keepalive\n"])
    {
        let mut response = served.post(path, body("later", true)).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let mut text = String::new();
        while text.matches(sign).count() < 3 {
            text.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
        }
        assert!(!text.contains("later"));
        served.calls.permits.add_permits(1);
        text.push_str(&response.text().await.unwrap());
        assert_eq!(read(api, &text).unwrap().text, "later", "{text}");
    }
}

#[tokio::test]
async fn an_early_refusal_has_its_status() {
    let served = ServedCalls::start_with(3, Duration::from_mins(1)).await;
    for (path, _) in ALL {
        served.calls.refusals.lock().unwrap().push_back(CallRefusal::new(403, "the budget is spent"));
        let refused = served.post(path, body("x", true)).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
        assert_eq!(read_error_body(&refused.bytes().await.unwrap()).message, "the budget is spent");
    }
}

#[tokio::test]
async fn a_late_refusal_is_an_event() {
    let served = ServedCalls::start(0).await;
    for (path, api) in ALL {
        served.calls.refusals.lock().unwrap().push_back(CallRefusal::new(403, "the budget is spent"));
        let refused = served.post(path, body("x", true)).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::OK);
        served.calls.permits.add_permits(1);
        let text = refused.text().await.unwrap();
        let found = read(api, &text).unwrap_err();
        assert!(matches!(&found, WireError::Reported { message, .. } if message == "the budget is spent"));
    }
}

#[tokio::test]
async fn clients_do_not_wait_for_each_other() {
    let served = ServedCalls::start(0).await;
    let mut all = tokio::task::JoinSet::new();
    for number in 0..20 {
        all.spawn(served.post("/v1/responses", body(&format!("n{number}"), number % 2 == 0)).send());
    }
    served.wait_for(&served.calls.begun, 20).await;
    served.calls.permits.add_permits(20);
    while let Some(response) = all.join_next().await {
        assert_eq!(response.unwrap().unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn a_call_ends_when_its_client_hangs_up() {
    let served = ServedCalls::start(0).await;
    let mut dropped = 0;
    for stream in [false, true] {
        let request = served.post("/v1/messages", body("x", stream)).send();
        // The stream has begun by then.
        let waited = tokio::time::timeout(KEEP_ALIVE * 4, request).await;
        assert_eq!(waited.is_ok(), stream);
        drop(waited);
        dropped += 1;
        served.wait_for(&served.calls.dropped, dropped).await;
    }
}

#[tokio::test]
async fn all_ends_with_the_server() {
    let mut served = ServedCalls::start(0).await;
    let waiting = tokio::task::JoinSet::from_iter([served.post("/v1/messages", body("x", false)).send()]);
    served.wait_for(&served.calls.begun, 1).await;
    served.task.shutdown().await;
    served.wait_for(&served.calls.dropped, 1).await;
    assert!(waiting.join_all().await[0].is_err());
    let gone = served.post("/v1/messages", body("x", false)).timeout(Duration::from_secs(5)).send().await;
    assert!(gone.is_err());
}
