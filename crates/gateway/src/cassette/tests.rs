use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, sync::Arc};

use tempfile::TempDir;
use wf_core::agent::{Message, ModelReply, ModelRequest, StopReason, ToolCall, ToolResult};
use wf_model::{ModelApi, Money, TokenUsage};

use super::{Cassette, CassetteError, RecordedExchange, RecordedOutcome, request_digest};
use crate::{
    Gateway, ModelCallResult,
    retry::{CallFailureClass, ModelFailureKind},
    tests::{CountedClock, NoKeys, definition, name, request, table},
};

fn exchange(request: ModelRequest, text: &str) -> RecordedExchange {
    let usage = TokenUsage { input: 10, cached_input: 0, cache_write: 0, output: 2 };
    let reply = ModelReply { text: text.into(), tool_calls: Vec::new(), stop: StopReason::EndTurn, usage };
    RecordedExchange {
        passed_over: Vec::new(),
        continues: None,
        model: name("small"),
        request,
        replied_by: None,
        outcome: RecordedOutcome::Reply(reply),
        usage,
        cost: Money::of_micros(7),
        tries: 1,
    }
}

/// A conversation in which a tool was called once.
fn conversation(result: &str) -> ModelRequest {
    let mut request = request("Do it.");
    let call = ToolCall { id: "c1".into(), tool: "run".into(), arguments: "{}".into() };
    let results = vec![ToolResult { id: "c1".into(), text: result.into(), is_error: false }];
    request.messages.push(Message::Assistant { text: "I try.".into(), tool_calls: vec![call] });
    request.messages.push(Message::Tool { results });
    request
}

fn recorded(exchanges: &[RecordedExchange]) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("new/tape");
    let cassette = Cassette::create(&folder).unwrap();
    for exchange in exchanges {
        cassette.record(exchange).unwrap();
    }
    (dir, folder)
}

/// The message for a request that was not recorded.
fn miss(exchanges: &[RecordedExchange], model: &str, request: &ModelRequest) -> String {
    let (_dir, folder) = recorded(exchanges);
    let failure = Cassette::open(&folder).unwrap().replay(&name(model), request).unwrap_err();
    assert_eq!(failure.kind, ModelFailureKind::Unrecorded);
    assert_eq!(failure.class(), CallFailureClass::Permanent);
    let text = failure.to_string();
    let start = format!("{} has no reply to this request: ", folder.display());
    let text = text.strip_prefix(&start).unwrap_or_else(|| panic!("{text}"));
    text.strip_suffix("; --record makes a new cassette").unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn the_same_request_gets_its_replies_in_order() {
    let all = [exchange(request("go"), "one"), exchange(request("go"), "two"), exchange(request("no"), "x")];
    let (_dir, folder) = recorded(&all);
    let digest = request_digest(&name("small"), &request("go"));
    for file in [format!("{digest}.json"), format!("{digest}-2.json")] {
        let mode = fs::metadata(folder.join(&file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing else is left behind");
    let cassette = Cassette::open(&folder).unwrap();
    for expected in &all {
        assert_eq!(cassette.replay(&name("small"), &expected.request).unwrap(), *expected);
    }
    let more = cassette.replay(&name("small"), &request("go")).unwrap_err().to_string();
    assert!(more.contains(&format!("{}… was made fewer than 3 times", digest.short())), "{more}");
}

#[test]
fn a_recording_is_readable() {
    let (_dir, folder) = recorded(&[exchange(conversation("2"), "done")]);
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(file).unwrap();
    for line in ["  \"model\": \"small\",", "    \"text\": \"done\",", "  \"cost_micro_usd\": 7,"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert!(text.ends_with("}\n"));
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let with = |schema: &str| {
        let mut request = request("go");
        request.answer_schema = Some(serde_json::from_str(schema).unwrap());
        request_digest(&name("small"), &request)
    };
    let first = with(r#"{"type":"object","required":["a"],"properties":{"b":{"x":1,"y":2}}}"#);
    assert_eq!(first, with(r#"{"properties":{"b":{"y":2,"x":1}},"required":["a"],"type":"object"}"#));
    assert_ne!(first, with(r#"{"properties":{"b":{"y":2,"x":1}},"required":["b"],"type":"object"}"#));
    assert_ne!(
        request_digest(&name("small"), &request("go")),
        request_digest(&name("large"), &request("go"))
    );
}

#[test]
fn a_miss_names_the_nearest_request_and_the_difference() {
    let nearest = exchange(conversation("the sum is 3"), "done");
    let mut longer = exchange(conversation("the sum is 3"), "done");
    longer.request.messages.push(Message::User { text: "again".into() });
    let all = [exchange(request("Something else."), "x"), exchange(request("Do it."), "y"), nearest, longer];
    let short = all[2].digest().short();
    let message = miss(&all, "small", &conversation("the sum is 5"));
    let expected = r#"message 3 (tool result of `run`) differs: recorded "the sum is 3", now "the sum is 5""#;
    assert_eq!(message, format!("in the nearest one, {short}…, {expected}"));
}

#[test]
fn a_difference_is_an_excerpt() {
    let old = format!("{}old{}", "a".repeat(100), "\n".repeat(100));
    let message = miss(&[exchange(conversation(&old), "x")], "small", &conversation(&"a".repeat(101)));
    let (_, expected) = message.split_once("differs: ").unwrap();
    let expected_old = format!("…{}old{}…", "a".repeat(12), "\\n".repeat(45));
    assert_eq!(expected, format!("recorded \"{expected_old}\", now \"…{}\"", "a".repeat(13)));
}

#[test]
fn settings_are_compared_before_messages() {
    let all = [exchange(request("go"), "x")];
    let mut other = request("stay");
    other.max_output = 9;
    let message = miss(&all, "small", &other);
    assert!(message.ends_with("`max_output` differs: recorded \"1000\", now \"9\""), "{message}");
    let message = miss(&all, "large", &request("go"));
    assert!(message.ends_with("the model differs: recorded \"small\", now \"large\""), "{message}");
    let message = miss(&[exchange(conversation("1"), "x")], "small", &request("Do it."));
    assert!(message.ends_with("it goes on with message 2 (assistant)"), "{message}");
    let message = miss(&[exchange(request("Do it."), "x")], "small", &conversation("1"));
    assert!(message.ends_with("it ends before message 2 (assistant): \"I try.\""), "{message}");
}

#[test]
fn a_folder_that_does_not_fit_is_refused() {
    let (dir, folder) = recorded(&[exchange(request("go"), "x")]);
    assert_eq!(Cassette::create(&folder).unwrap_err(), CassetteError::Used(folder.clone()));
    Cassette::extend(&folder).unwrap().record(&exchange(request("go"), "y")).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    let empty = dir.path().join("empty");
    for _ in 0..2 {
        let error = Cassette::open(&empty).unwrap_err();
        assert!(matches!(error, CassetteError::NoFolder { .. }), "{error}");
        fs::create_dir_all(&empty).unwrap();
        fs::write(empty.join("README.json"), "{}").unwrap();
    }
    assert!(!Cassette::create(&empty).unwrap().is_replay());
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(Cassette::create(&file).unwrap_err(), CassetteError::Unwritable { .. }));
    assert!(matches!(Cassette::open(&file).unwrap_err(), CassetteError::NoFolder { .. }));
}

#[test]
fn a_damaged_recording_is_named() {
    let (_dir, folder) = recorded(&[exchange(request("go"), "x")]);
    let path = folder.join(format!("{}.json", request_digest(&name("small"), &request("go"))));
    let whole = fs::read_to_string(&path).unwrap();
    for (text, reason) in [
        (whole.replace("go", "stay"), "its request was modified"),
        (whole.replace('}', ""), "expected `,` or `}`"),
    ] {
        fs::write(&path, text).unwrap();
        let failure = Cassette::open(&folder).unwrap().replay(&name("small"), &request("go")).unwrap_err();
        let text = failure.to_string();
        assert!(text.contains(&path.display().to_string()) && text.contains(reason), "{text}");
        assert_eq!(failure.class(), CallFailureClass::Permanent);
    }
}

fn gateway(dir: &TempDir, cassette: Cassette) -> Gateway {
    let clock = Arc::new(CountedClock::new());
    let gateway = Gateway::new(table(&[]), Arc::new(NoKeys), dir.path().to_owned(), clock);
    gateway.with_cassette(Some(Arc::new(cassette)))
}

async fn called(gateway: &Gateway, text: &str) -> ModelCallResult {
    let run = TempDir::new().unwrap();
    called_in(&Arc::new(Cassette::of_run(run.path().join("run"))), gateway, text).await
}

async fn called_in(cassette: &Arc<Cassette>, gateway: &Gateway, text: &str) -> ModelCallResult {
    let model = definition("small", ModelApi::Scripted, "replies.yaml");
    let result = gateway.call(&model, &request(text)).await;
    let result = gateway.record(Some(cassette), &model, &request(text), result).await;
    ModelCallResult { duration_ms: 0, ..result }
}

#[tokio::test]
async fn a_gateway_replays_replies_and_failures_without_a_model() {
    let (dir, tape) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let script = "- when: go\n  replies: [{text: done}]\n- replies: [{error: {status: 401}}]\n";
    fs::write(dir.path().join("replies.yaml"), script).unwrap();
    let recording = gateway(&dir, Cassette::create(tape.path()).unwrap());
    let before = (called(&recording, "go").await, called(&recording, "fail").await);
    assert_eq!(before.0.outcome.as_ref().unwrap().text, "done");
    fs::remove_file(dir.path().join("replies.yaml")).unwrap();
    let replaying = gateway(&dir, Cassette::open(tape.path()).unwrap());
    let after = (called(&replaying, "go").await, called(&replaying, "fail").await);
    assert_eq!(after, before);
    let unknown = called(&replaying, "stay").await;
    assert_eq!((unknown.tries, unknown.usage.total()), (0, 0));
    assert_eq!(unknown.outcome.unwrap_err().class(), CallFailureClass::Permanent);
    assert_eq!(fs::read_dir(tape.path()).unwrap().count(), 2, "nothing is recorded in a replay");
}

#[tokio::test]
async fn an_exchange_that_cannot_be_recorded_fails_and_keeps_its_cost() {
    let (dir, tape) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(dir.path().join("replies.yaml"), "- {text: done, usage: {input: 5, output: 1}}\n").unwrap();
    let folder = tape.path().join("tape");
    let recording = gateway(&dir, Cassette::create(&folder).unwrap());
    fs::remove_dir_all(&folder).unwrap();
    let result = called(&recording, "go").await;
    assert_eq!((result.usage.total(), result.tries), (6, 1));
    let error = result.outcome.unwrap_err();
    assert_eq!(error.class(), CallFailureClass::Permanent);
    assert!(error.to_string().contains("cannot record the exchange"), "{error}");
}

#[tokio::test]
async fn every_run_keeps_its_exchanges_and_can_be_replayed_in_another_place() {
    let (there, here) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let at = |dir: &TempDir| dir.path().display().to_string();
    let script = format!("- when: look\n  replies: [{{text: \"cd {} && ls\"}}]\n", at(&there));
    fs::write(there.path().join("replies.yaml"), script).unwrap();
    let clock = Arc::new(CountedClock::new());
    let kept = Arc::new(Cassette::of_run(there.path().join("runs/exchanges")));
    let gateway = Gateway::new(table(&[]), Arc::new(NoKeys), there.path().to_owned(), clock);
    called_in(&kept, &gateway, &format!("look at {}/x", at(&there))).await.outcome.unwrap();
    let file = kept.files().unwrap().remove(0);
    assert!(!fs::read_to_string(file).unwrap().contains(&at(&there)));

    let replaying = self::gateway(&here, Cassette::open(kept.folder()).unwrap());
    let result = called_in(&kept, &replaying, &format!("look at {}/x", at(&here))).await;
    assert_eq!(result.outcome.unwrap().text, format!("cd {} && ls", at(&here)));
    assert_eq!(kept.files().unwrap().len(), 2, "a replay keeps its exchanges, too");
    // A call that has no answer is not kept: it is no exchange.
    called_in(&kept, &replaying, "another").await.outcome.unwrap_err();
    assert_eq!(kept.files().unwrap().len(), 2);
}

/// The conversation of an agent of some turns.
fn turns(count: usize) -> ModelRequest {
    let mut request = request("Do it.");
    for turn in 0..count {
        let call = ToolCall { id: format!("c{turn}"), tool: "run".into(), arguments: "{}".into() };
        let text = format!("{turn:04}").repeat(250);
        request.messages.push(Message::Assistant { text: "I try.".into(), tool_calls: vec![call] });
        let results = vec![ToolResult { id: format!("c{turn}"), text, is_error: false }];
        request.messages.push(Message::Tool { results });
    }
    request
}

#[test]
fn a_conversation_takes_space_once_and_is_replayed_whole() {
    let size = |count: usize| {
        let all: Vec<_> = (0..count).map(|turn| exchange(turns(turn), &turn.to_string())).collect();
        let (_dir, folder) = recorded(&all);
        // A recording that went on after a crash knows nothing of the first part.
        Cassette::extend(&folder).unwrap().record(&exchange(turns(count), "end")).unwrap();
        let tape = Cassette::open(&folder).unwrap();
        for (turn, expected) in all.iter().chain([&exchange(turns(count), "end")]).enumerate() {
            assert_eq!(tape.replay(&name("small"), &turns(turn)).unwrap(), *expected);
        }
        // In any other order, too.
        let tape = Cassette::open(&folder).unwrap();
        for turn in [count - 1, 3, count - 2] {
            assert_eq!(tape.replay(&name("small"), &turns(turn)).unwrap(), all[turn]);
        }
        let bytes = |path: &PathBuf| fs::metadata(path).unwrap().len();
        tape.files().unwrap().iter().map(bytes).sum::<u64>()
    };
    let (short, long) = (size(10), size(50));
    assert!(long < short * 6, "10 turns take {short} bytes, and 50 take {long}");
}

#[test]
fn recordings_that_continue_what_is_not_there_or_themselves_are_refused() {
    let (_dir, folder) = recorded(&[exchange(turns(0), "a"), exchange(turns(1), "b")]);
    let tape = Cassette::open(&folder).unwrap();
    let first = folder.join(format!("{}.json", request_digest(&name("small"), &turns(0))));
    let second = folder.join(format!("{}.json", request_digest(&name("small"), &turns(1))));
    let text = fs::read_to_string(&second).unwrap();
    let own = second.file_stem().unwrap().to_string_lossy().into_owned();
    for (other, words) in [(own.as_str(), "no recording of its own"), ("../x", "no recording of its own")] {
        let other = text.replace(&first.file_stem().unwrap().to_string_lossy().into_owned(), other);
        fs::write(&second, other).unwrap();
        let message = tape.replay(&name("small"), &turns(1)).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    fs::write(&second, text).unwrap();
    fs::remove_file(&first).unwrap();
    let message = Cassette::open(&folder).unwrap().replay(&name("small"), &turns(1)).unwrap_err().to_string();
    assert!(message.contains("it continues") && message.contains("No such file"), "{message}");
}
