//! Agents with a real model: a small one, on one processor, behind the formats of real providers.
//!
//! `tests/real/install` downloads it, which takes 127 MB and a minute, so these tests run on request only:
//! `cargo nextest run -p wf --run-ignored only -E 'test(real_model)'`. They fail, and are not skipped, where
//! something is missing.

mod packs;
mod relay;
mod server;

use serde_json::{Value, json};

use crate::support::Sandbox;
use relay::Relay;
use server::ModelServer;

/// A step whose first answer is certainly wrong: no model of this size multiplies numbers of four digits. The check
/// computes the product itself, and its output tells the next attempt.
const PRODUCT: &str = r#"---
kind: plan
id: product
steps:
  - id: multiply
    agent: {role: executor}
    retry: {max: 1, backoff: 0s, on: [logical]}
    outputs:
      product: {type: integer, minimum: 0, maximum: 99999999}
    verify:
      - name: is_right
        env: {PRODUCT: "{{ steps.multiply.outputs.product }}"}
        run: |
          product=$((6151 * 7349))
          test "$PRODUCT" = "$product" || { echo "the right answer is {\"product\": $product}"; exit 1; }
outputs:
  product: {type: integer, value: "{{ steps.multiply.outputs.product }}"}
---

## multiply

What is the product of 6151 and 7349? Answer with a JSON object.
"#;

/// A step whose schema permits one answer, which nobody would give to its question.
const SCHEMA: &str = r#"---
kind: plan
id: schema
steps:
  - id: answer
    agent: {role: executor}
    outputs:
      colour: {enum: [vermilion]}
    verify:
      - name: is_vermilion
        env: {COLOUR: "{{ steps.answer.outputs.colour }}"}
        run: test "$COLOUR" = vermilion
---

## answer

What is the capital of France? Answer with a JSON object.
"#;

/// A step that gets the mistake in its first answer told, and sends the conversation again.
const REPAIR: &str = r"---
kind: plan
id: repair
steps:
  - id: answer
    agent: {role: executor}
    outputs:
      colour: {enum: [vermilion]}
---

## answer

What is the capital of France? Answer with a JSON object.
";

/// A step whose answer takes the model a minute.
const STORY: &str = r"---
kind: plan
id: story
steps:
  - id: tell
    agent: {role: executor}
---

## tell

Tell a long story about a lighthouse.
";

/// A workspace whose `executor` is the model at an address.
fn workspace(api: &str, base_url: &str, plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let max_output = if plan == STORY { 1000 } else { 48 };
    let model = json!({"api": api, "base_url": base_url, "model": "smollm2", "max_output": max_output});
    sandbox.file("wf.yaml", json!({"models": {"small": model}, "roles": {"executor": "small"}}).to_string());
    sandbox.file("plan.md", plan);
    sandbox
}

fn shown(sandbox: &Sandbox) -> Value {
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    serde_json::from_str(&shown).expect("a run is shown as JSON")
}

/// The ends of all model calls of a run, in order.
fn calls(shown: &Value) -> Vec<Value> {
    let agents = shown["agents"].as_array().expect("the run has agents");
    agents
        .iter()
        .flat_map(|agent| agent["calls"].as_array().expect("an agent has calls"))
        .map(|call| call["end"].clone())
        .collect()
}

/// Adds up a count, which is left out where it is zero.
fn sum(calls: &[Value], path: &str) -> u64 {
    calls.iter().map(|call| call.pointer(path).and_then(Value::as_u64).unwrap_or(0)).sum()
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn a_check_refutes_a_real_model_and_its_findings_correct_it() {
    let server = ModelServer::start();
    let relay = Relay::to(server.authority());
    let sandbox = workspace("openai", &relay.base_url(), PRODUCT);
    let did = sandbox.wf(&["run", "plan.md"]).exits(0);
    did.says("multiply · attempt 2 in 0.0s · check `is_right`").says("succeeded · 1 verified");
    let shown = shown(&sandbox);
    assert_eq!(shown["run"]["outputs"], json!({"product": 6151 * 7349}));
    let rulings: Vec<&Value> =
        shown["checks"].as_array().unwrap().iter().map(|check| &check["verdict"]["ruling"]).collect();
    assert_eq!(rulings, ["fail", "pass"]);
    let calls = calls(&shown);
    assert_eq!(calls.len(), 2, "each answer conforms to its schema at once: {calls:#?}");
    usage_is_what_the_server_counted(&shown, &calls, &relay);
    replies_were_streamed(&calls, &relay);
}

/// The server counts tokens and time itself, in the last event of each reply.
fn usage_is_what_the_server_counted(shown: &Value, calls: &[Value], relay: &Relay) {
    let counted: Vec<Value> = relay.events().into_iter().filter(|event| event["usage"].is_object()).collect();
    assert_eq!(counted.len(), 2, "{counted:#?}");
    let (input, output) = (sum(&counted, "/usage/prompt_tokens"), sum(&counted, "/usage/completion_tokens"));
    assert!(input > 100 && output > 10, "{counted:#?}");
    assert_eq!(sum(calls, "/usage/input"), input);
    assert_eq!(sum(calls, "/usage/output"), output);
    // The second briefing begins like the first.
    assert_eq!(
        sum(calls, "/usage/cached_input"),
        sum(&counted, "/usage/prompt_tokens_details/cached_tokens")
    );
    assert_eq!(shown["ledger"]["tokens"], input + output);
    for (call, event) in calls.iter().zip(&counted) {
        let busy = |name: &str| event["timings"][name].as_f64().expect("the server tells its time");
        let own = call["duration_ms"].as_f64().expect("a call has a duration");
        assert!(own + 1.0 >= busy("prompt_ms") + busy("predicted_ms"), "{call:#} {event:#}");
    }
}

/// A reply arrives while it is generated: nearly every token in a piece of its own.
fn replies_were_streamed(calls: &[Value], relay: &Relay) {
    let sent = relay.sent();
    assert!(sent.contains(r#""stream":true"#) && sent.contains(r#""type":"json_schema""#), "{sent}");
    let output = sum(calls, "/usage/output");
    let pieces = relay.pieces_of_events();
    assert!(pieces as u64 >= output / 2, "{pieces} pieces for {output} tokens");
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn the_schema_of_the_outputs_constrains_a_real_model() {
    let server = ModelServer::start();
    let sandbox = workspace("openai", &server.base_url(), SCHEMA);
    sandbox.wf(&["run", "plan.md"]).exits(0).says("succeeded · 1 verified");
    let calls = calls(&shown(&sandbox));
    assert_eq!(calls.len(), 1, "{calls:#?}");
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn a_real_server_takes_each_format_and_whole_conversations() {
    let server = ModelServer::start();
    // These two ignore the schema, so the model answers freely, is told its mistake, and answers again.
    for (api, base_url) in [("openai_responses", server.base_url()), ("anthropic", server.base_url())] {
        let sandbox = workspace(api, &base_url, REPAIR);
        sandbox.wf(&["run", "plan.md"]).exits(1).says("[asked to repair the answer] `colour` is missing");
        let calls = calls(&shown(&sandbox));
        assert_eq!(calls.len(), 2, "{api}: {calls:#?}");
        for call in &calls {
            assert_eq!(call["outcome"], "replied", "{api}: {call:#}");
            assert!(sum(std::slice::from_ref(call), "/usage/output") > 0, "{api}: {call:#}");
        }
        let inputs: Vec<u64> =
            calls.iter().map(|call| sum(std::slice::from_ref(call), "/usage/input")).collect();
        assert!(inputs[1] > inputs[0], "{api}: the second call has the whole conversation: {inputs:?}");
    }
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn a_server_that_dies_in_a_reply_fails_the_attempt_and_its_tokens_count() {
    let mut server = ModelServer::start();
    let relay = Relay::to(server.authority());
    let sandbox = workspace("openai", &relay.base_url(), STORY);
    let run = sandbox.start(&["run", "plan.md"]);
    relay.wait_for_events(5);
    server.kill();
    let ended = run.wait_with_output().expect("the end of wf can be awaited");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let shown = shown(&sandbox);
    let calls = calls(&shown);
    assert_eq!((calls.len(), &calls[0]["outcome"]), (1, &json!("failed")), "{calls:#?}");
    assert_eq!(calls[0]["failure_class"], "engine", "{calls:#?}");
    assert!(
        calls[0]["reason"].as_str().is_some_and(|reason| reason.starts_with("model `small`: ")),
        "{calls:#?}"
    );
    assert!(
        sum(&calls, "/usage/output") >= 2 && shown["ledger"]["tokens"].as_u64() > Some(100),
        "{calls:#?}"
    );
}
