use std::{fs, sync::Arc, time::Duration};

use tempfile::TempDir;
use wf_core::{
    agent::StopReason,
    health::{BreakerChange, BreakerNote, CallEnd, CallTarget, TargetHealth},
    machine::AttemptUsage,
};
use wf_model::{ModelApi, ModelDefinition, ModelPrice, Money, SecretSource, TokenUsage};

use super::{AllowanceFuture, CallHealth as _, Gateway, ProcessHealth, TryAllowance};
use crate::{
    retry::{CallFailureClass, ModelFailureKind, RetryDelays},
    tests::{CannedReply, CountedClock, NoKeys, OneKey, TestServer, definition, name, request, table},
};

fn gateway(dir: &TempDir, models: &[ModelDefinition]) -> Gateway {
    let clock = Arc::new(CountedClock::new());
    Gateway::new(table(models), Arc::new(NoKeys), dir.path().to_owned(), clock)
}

fn scripted(dir: &TempDir, own: &str, script: &str) -> ModelDefinition {
    let file = format!("{own}.yaml");
    fs::write(dir.path().join(&file), script).unwrap();
    definition(own, ModelApi::Scripted, &file)
}

const CHAT: &str = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],
    "usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;

#[tokio::test]
async fn a_script_replies() {
    let dir = TempDir::new().unwrap();
    let mut model = scripted(&dir, "small", "- text: done\n  usage: {input: 1000, output: 100}\n");
    let micros = |input| Money::of_micros(input);
    model.price = Some(ModelPrice { input: micros(2_000), output: micros(10_000), ..ModelPrice::default() });
    let result = gateway(&dir, &[]).call(&model, &request("go")).await;
    let reply = result.outcome.unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("done", StopReason::EndTurn));
    assert_eq!((result.model, result.tries, result.cost), (name("small"), 1, micros(3)));
    assert_eq!(result.usage, TokenUsage { input: 1000, cached_input: 0, cache_write: 0, output: 100 });
}

#[tokio::test]
async fn a_provider_replies() {
    let server =
        TestServer::start(vec![CannedReply::whole("200 OK", "content-type: application/json\r\n", CHAT)])
            .await;
    let dir = TempDir::new().unwrap();
    let mut model = definition("strong", ModelApi::Openai, "some-model");
    model.base_url = Some(server.base_url.clone());
    model.key = Some(SecretSource::Env("KEY".into()));
    let clock = Arc::new(CountedClock::new());
    let gateway = Gateway::new(table(&[]), Arc::new(OneKey("k-123")), dir.path().to_owned(), clock);
    let result = gateway.call(&model, &request("go")).await;
    assert_eq!(result.outcome.unwrap().text, "hi");
    assert_eq!(result.usage, TokenUsage { input: 10, cached_input: 4, cache_write: 0, output: 2 });
    let seen = server.requests();
    assert!(seen[0].starts_with("POST /v1/chat/completions HTTP/1.1"), "{seen:?}");
    assert!(seen[0].contains("authorization: Bearer k-123\r\n"), "{seen:?}");
    assert!(seen[0].contains(r#""max_tokens":1000"#), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_open_a_breaker_and_fallbacks_reply() {
    let dir = TempDir::new().unwrap();
    let mut model = scripted(&dir, "strong", "- error: {status: 503}\n");
    let other = scripted(&dir, "other", "- text: from the other\n");
    model.fallback = vec![name("missing"), name("strong"), name("other"), name("other")];
    let gateway = gateway(&dir, &[other]);
    let first = gateway.call(&model, &request("go")).await;
    assert_eq!(first.outcome.unwrap().text, "from the other");
    assert_eq!((first.model, first.tries, first.duration_ms), (name("other"), 4, 3_000));
    assert!(first.failed_calls[0].to_string().ends_with("(3 tries)"), "{}", first.failed_calls[0]);
    let kinds: Vec<_> = first.failed_calls.iter().map(|one| one.failure.kind).collect();
    assert_eq!(kinds, [ModelFailureKind::Overloaded, ModelFailureKind::Misconfigured]);
    // Three tries of one call are one failure: it is the third call that opens the breaker.
    assert_eq!(first.breakers.len(), 0);
    for (tries, opened) in [(4, 0), (4, 1)] {
        let next = gateway.call(&model, &request("go")).await;
        assert_eq!((next.tries, next.breakers.len()), (tries, opened));
    }
    // The breaker is open: no try, no wait.
    model.fallback.clear();
    let second = gateway.call(&model, &request("go")).await;
    let error = second.outcome.unwrap_err();
    assert_eq!((second.tries, second.duration_ms), (0, 0));
    assert_eq!(error.failures[0].failure.kind, ModelFailureKind::LeftAlone);
    assert_eq!(error.class(), CallFailureClass::Transient);
    assert!(error.to_string().contains("called again in 60 s"), "{error}");
    // A probe, which fails, and no further try.
    tokio::time::sleep(Duration::from_mins(1)).await;
    let third = gateway.call(&model, &request("go")).await;
    let error = third.outcome.unwrap_err();
    assert_eq!((third.tries, error.failures[0].failure.kind), (1, ModelFailureKind::Overloaded));
}

#[tokio::test(start_paused = true)]
async fn gateways_that_share_their_health_leave_a_model_alone_until_a_probe_succeeds() {
    let dir = TempDir::new().unwrap();
    let model = scripted(&dir, "strong", "- text: back\n");
    let clock = Arc::new(CountedClock::new());
    let health = Arc::new(ProcessHealth::new(Arc::clone(&clock) as _));
    let outage = || CallEnd::Outage { error: "busy".into() };
    for _ in 0..TargetHealth::FAILURES {
        health.note(CallTarget::model(&model.name), outage()).await;
    }
    let gateways = [(), ()].map(|()| gateway(&dir, &[]).with_health(Arc::clone(&health) as _));
    for gateway in &gateways {
        let refused = gateway.call(&model, &request("go")).await;
        assert_eq!(refused.tries, 0);
        assert!(refused.outcome.unwrap_err().to_string().contains("called again in 60 s"));
    }
    tokio::time::sleep(TargetHealth::OPEN).await;
    let probe = gateways[0].call(&model, &request("go")).await;
    assert_eq!(probe.outcome.unwrap().text, "back");
    let target = CallTarget::model(&model.name);
    assert_eq!(probe.breakers, [BreakerNote { target, change: BreakerChange::Closed }]);
    let next = gateways[1].call(&model, &request("go")).await;
    assert_eq!((next.tries, next.breakers.len()), (1, 0));
}

#[tokio::test]
async fn a_limit_is_waited_for() {
    let limited =
        CannedReply::whole("429 Too Many Requests", "retry-after: 1\r\n", r#"{"error":{"message":"slow"}}"#);
    let fine = CannedReply::whole("200 OK", "content-type: application/json\r\n", CHAT);
    let server = TestServer::start(vec![limited, fine]).await;
    let dir = TempDir::new().unwrap();
    let mut model = definition("strong", ModelApi::Openai, "some-model");
    model.base_url = Some(format!("{}/v1/", server.base_url));
    let delays = RetryDelays { base: Duration::from_millis(1), ..RetryDelays::default() };
    let result = gateway(&dir, &[]).with_delays(delays).call(&model, &request("go")).await;
    assert_eq!(result.outcome.unwrap().text, "hi");
    assert_eq!(result.tries, 2);
    assert!(result.duration_ms >= 1_000, "{}", result.duration_ms);
}

#[tokio::test]
async fn failures_of_a_server_open_the_breaker() {
    let server = TestServer::start(vec![CannedReply::whole("500 Internal Server Error", "", "oh")]).await;
    let dir = TempDir::new().unwrap();
    let mut model = definition("strong", ModelApi::OpenaiResponses, "some-model");
    model.base_url = Some(server.base_url.clone());
    let delays = RetryDelays { base: Duration::from_millis(1), ..RetryDelays::default() };
    let gateway = gateway(&dir, &[]).with_delays(delays);
    let first = gateway.call(&model, &request("go")).await;
    assert_eq!((first.tries, first.usage, server.requests().len()), (3, TokenUsage::default(), 3));
    let error = first.outcome.unwrap_err().to_string();
    assert!(error.starts_with("model `strong`: the provider replied with status 500 (\"oh\"): "), "{error}");
    for requests in [6, 9] {
        gateway.call(&model, &request("go")).await;
        assert_eq!(server.requests().len(), requests);
    }
    let fourth = gateway.call(&model, &request("go")).await;
    assert_eq!((fourth.tries, server.requests().len()), (0, 9));
    assert_eq!(fourth.outcome.unwrap_err().failures[0].failure.kind, ModelFailureKind::LeftAlone);
}

#[tokio::test]
async fn a_reply_that_broke_off_is_paid_for() {
    let part =
        br#"data: {"type":"message_start","message":{"usage":{"input_tokens":100,"output_tokens":1}}}"#;
    let cut = CannedReply::stream(&[part, b"\n\n"]);
    let whole = r#"{"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn",
        "usage":{"input_tokens":100,"output_tokens":9}}"#;
    let fine = CannedReply::whole("200 OK", "content-type: application/json\r\n", whole);
    let server = TestServer::start(vec![cut, fine]).await;
    let dir = TempDir::new().unwrap();
    let mut model = definition("strong", ModelApi::Anthropic, "some-model");
    model.base_url = Some(server.base_url.clone());
    let dollar = Money::of_micros(1_000_000);
    model.price = Some(ModelPrice { input: dollar, output: dollar, ..ModelPrice::default() });
    let delays = RetryDelays { base: Duration::from_millis(1), ..RetryDelays::default() };
    let result = gateway(&dir, &[]).with_delays(delays).call(&model, &request("go")).await;
    assert_eq!((result.tries, result.cost.micros()), (2, 210));
    assert_eq!(result.usage, TokenUsage { input: 200, cached_input: 0, cache_write: 0, output: 10 });
    assert_eq!(result.outcome.unwrap().usage.input, 100);
}

#[tokio::test]
async fn a_bad_definition_is_explained_and_sends_nothing() {
    let dir = TempDir::new().unwrap();
    let gateway = gateway(&dir, &[]);
    let mut model = definition("strong", ModelApi::Openai, "some-model");
    model.base_url = Some("http://example.com".into());
    let result = gateway.call(&model, &request("go")).await;
    let error = result.outcome.unwrap_err();
    assert_eq!((result.tries, error.class()), (1, CallFailureClass::Permanent));
    assert!(error.to_string().contains("unencrypted"), "{error}");
    model.base_url = None;
    model.key = Some(SecretSource::Env("KEY".into()));
    let error = gateway.call(&model, &request("go")).await.outcome.unwrap_err();
    assert_eq!(error.to_string(), "model `strong`: cannot read the key: there is none");
    let script = scripted(&dir, "broken", "- txt: a\n");
    let error = gateway.call(&script, &request("go")).await.outcome.unwrap_err();
    assert!(error.to_string().starts_with("model `broken`: broken.yaml:1:3: unknown key `txt`"), "{error}");
}

#[tokio::test]
async fn a_provider_that_does_not_count_is_estimated() {
    let body = r#"{"choices":[{"message":{"content":"1234567"},"finish_reason":"stop"}]}"#;
    let server =
        TestServer::start(vec![CannedReply::whole("200 OK", "content-type: application/json\r\n", body)])
            .await;
    let dir = TempDir::new().unwrap();
    let mut model = definition("local", ModelApi::Openai, "some-model");
    model.base_url = Some(server.base_url.clone());
    let result = gateway(&dir, &[]).call(&model, &request("go")).await;
    assert_eq!(result.usage, TokenUsage { input: 3, cached_input: 0, cache_write: 0, output: 2 });
}

#[test]
fn a_call_may_move_between_threads() {
    fn check<T: Send>(_: T) {}
    let dir = TempDir::new().unwrap();
    let model = definition("strong", ModelApi::Openai, "some-model");
    let clock = Arc::new(wf_base::time::SystemClock);
    let gateway = Gateway::new(table(&[]), Arc::new(NoKeys), dir.path().to_owned(), clock);
    check(gateway.call(&model, &request("go")));
}

/// A payer with some tokens for further tries.
struct Payer(u64);

impl TryAllowance for Payer {
    fn allow(&mut self, usage: AttemptUsage) -> AllowanceFuture<'_> {
        let answer = if usage.tokens <= self.0 { Ok(()) } else { Err("nothing is left".into()) };
        Box::pin(std::future::ready(answer))
    }
}

/// A provider whose replies break off after it has counted 10 tokens of input.
async fn broken_off() -> (TestServer, TempDir, ModelDefinition) {
    let stream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n";
    let reply = || CannedReply::whole("200 OK", "content-type: text/event-stream\r\n", stream);
    let server = TestServer::start(vec![reply(), reply(), reply()]).await;
    let mut model = definition("strong", ModelApi::Anthropic, "some-model");
    model.base_url = Some(server.base_url.clone());
    (server, TempDir::new().unwrap(), model)
}

#[tokio::test]
async fn a_further_try_is_made_only_if_it_is_paid() {
    let delays = RetryDelays { base: Duration::from_millis(1), ..RetryDelays::default() };
    for (tokens, tries) in [(0, 1), (15, 2), (1000, 3)] {
        let (server, dir, model) = broken_off().await;
        let gateway = gateway(&dir, &[]).with_delays(delays);
        let result = gateway.call_within(&model, &request("go"), &mut Payer(tokens)).await;
        let text = result.outcome.unwrap_err().to_string();
        assert_eq!((result.tries, server.requests().len()), (tries, tries as usize), "{text}");
        assert_eq!(text.contains("not tried again: nothing is left"), tries < 3, "{text}");
    }
}

#[tokio::test]
async fn a_fallback_is_called_only_if_it_is_paid() {
    let delays = RetryDelays { further: 0, ..RetryDelays::default() };
    for (tokens, replies) in [(0, false), (1000, true)] {
        let (_server, dir, mut model) = broken_off().await;
        let other = scripted(&dir, "other", "- text: from the other\n");
        model.fallback = vec![name("other")];
        let gateway = gateway(&dir, &[other]).with_delays(delays);
        let result = gateway.call_within(&model, &request("go"), &mut Payer(tokens)).await;
        assert_eq!(result.outcome.is_ok(), replies);
    }
}
