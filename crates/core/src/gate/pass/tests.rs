use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::GatePass;
use crate::gate::{
    ALLOWED_MUTATIONS, CALL_CONTEXT_CHARS, GateAction,
    GateAction::{Block, Continue, RequireApproval},
    GateAnswer, GateContext, GateOutcome, GateRuling, no_provider, ruling,
    tests::sample,
};
use wf_model::{
    Gate, GateLane,
    GateLane::{Policy, Quality},
    GateProvider, GateTrigger, JsonObject, LlmJudge,
};

fn gate(id: &str, lane: GateLane) -> Arc<Gate> {
    let gate = sample::gate(id);
    Arc::new(Gate { lane, ..gate })
}

fn object(value: Value) -> JsonObject {
    let Value::Object(object) = value else {
        panic!("{value} is no object");
    };
    object
}

fn says(action: GateAction, modified: Value) -> GateAnswer {
    GateAnswer {
        action,
        reason: "because".into(),
        score: None,
        flags: Vec::new(),
        modified: object(modified),
    }
}

/// Asks gates and answers for them; returns the outcome, and the context of each.
fn play(
    gates: &[Arc<Gate>],
    context: Value,
    mut answer: impl FnMut(&Gate) -> Result<GateAnswer, String>,
) -> (GateOutcome, Vec<(String, GateContext)>) {
    let mut pass = GatePass::new(gates, &[GateTrigger::OnOutput], object(context));
    let mut seen = Vec::new();
    while let Some((gate, context)) = pass.next_gate() {
        seen.push((gate.id.to_string(), context.clone()));
        pass.take_answer(answer(&gate), 7);
    }
    (pass.into_outcome(), seen)
}

fn ids(seen: &[(String, GateContext)]) -> Vec<&str> {
    seen.iter().map(|(id, _)| id.as_str()).collect()
}

#[test]
fn those_that_decide_are_asked_first_and_in_order() {
    let gates = [
        gate("advice", Quality),
        gate("system", Policy),
        gate("plan", Policy),
        gate("more-advice", Quality),
        gate("step", Policy),
    ];
    let (gated, seen) = play(&gates, json!({}), |_| Ok(GateAnswer::pass()));
    let order = ["system", "plan", "step", "advice", "more-advice"];
    assert_eq!(ids(&seen), order);
    assert!(gated.results.iter().all(|result| result.duration_ms == 7));
}

#[test]
fn only_gates_of_the_trigger_are_asked_and_in_the_order_of_triggers() {
    let on = |id: &str, on| Arc::new(Gate { on, ..sample::gate(id) });
    let gates = [
        on("output", GateTrigger::OnOutput),
        on("after", GateTrigger::AfterStep),
        on("other", GateTrigger::BeforeRun),
    ];
    let triggers = [GateTrigger::AfterStep, GateTrigger::OnOutput];
    let mut pass = GatePass::new(&gates, &triggers, GateContext::new());
    let mut asked = Vec::new();
    while let Some((gate, context)) = pass.next_gate() {
        asked.push(format!("{} {}", gate.id, context["trigger"]));
        pass.take_answer(Ok(GateAnswer::pass()), 0);
    }
    assert_eq!(asked, ["after \"after_step\"", "output \"on_output\""]);
}

#[test]
fn the_first_block_decides_and_the_rest_still_run_for_the_record() {
    let gates = ["one", "two", "three"].map(|id| gate(id, Policy));
    let (gated, seen) = play(&gates, json!({}), |gate| {
        let action = if gate.id.as_str() == "one" { Continue } else { Block };
        Ok(says(action, json!({})))
    });
    assert_eq!(ids(&seen), ["one", "two", "three"]);
    let actions: Vec<_> = gated.results.iter().map(|result| result.action).collect();
    assert_eq!(actions, [Continue, Block, Block]);
    let GateRuling::Block { gate, reason, .. } = ruling(&gated.results) else {
        panic!("it is blocked");
    };
    assert_eq!((gate.as_str(), reason.as_str()), ("two", "because"));
}

#[test]
fn rewriting_goes_from_left_to_right_and_quality_gates_see_the_end_of_it() {
    let gates = [gate("a", Policy), gate("b", Policy), gate("c", Quality)];
    let (gated, seen) = play(&gates, json!({ "response": "0" }), |gate| {
        Ok(says(Continue, json!({ "response": gate.id.as_str() })))
    });
    let texts: Vec<_> = seen.iter().map(|(_, context)| &context["response"]).collect();
    assert_eq!(texts, ["0", "a", "b"]);
    assert_eq!(Value::Object(gated.rewritten), json!({ "response": "b" }));
    assert_eq!(gated.results[0].changed, ["response"]);
}

#[test]
fn parameters_that_are_rewritten_at_the_start_are_seen_as_such() {
    let gates = [gate("a", Policy), gate("b", Policy)];
    let start = json!({ "message": {"n": 9}, "params": {"n": 9} });
    let (_, seen) = play(&gates, start, |_| Ok(says(Continue, json!({ "message": {"n": 4} }))));
    assert_eq!(seen[1].1["params"], json!({"n": 4}));
    let (_, seen) = play(&gates, json!({ "message": "n", "params": {"n": 9} }), |_| {
        Ok(says(Continue, json!({ "message": "m" })))
    });
    assert_eq!(seen[1].1["params"], json!({"n": 9}), "what a model is told is no parameter");
}

#[test]
fn only_three_keys_may_be_rewritten_and_the_others_are_recorded() {
    let (gated, seen) = play(&[gate("a", Policy), gate("b", Policy)], json!({}), |_| {
        let all = json!({ "response": 1, "message": 2, "tool_args": 3, "params": 4, "trigger": 5 });
        Ok(says(Continue, all))
    });
    let first = &gated.results[0];
    assert_eq!(first.changed, ["response", "message", "tool_args"]);
    assert_eq!(first.rejected, ["params", "trigger"]);
    assert_eq!(seen[1].1.get("params"), None);
    let expected = json!({ "response": 1, "message": 2, "tool_args": 3 });
    assert_eq!(Value::Object(gated.rewritten), expected);
    // Rewriting a key with its present value is not a change.
    assert!(gated.results[1].changed.is_empty());
}

#[test]
fn a_quality_gate_cannot_block_ask_or_rewrite_and_that_it_tried_is_recorded() {
    for tried in [Block, RequireApproval] {
        let (gated, _) =
            play(&[gate("a", Quality)], json!({}), |_| Ok(says(tried, json!({ "response": "mine" }))));
        let result = &gated.results[0];
        assert_eq!((result.action, result.ignored), (Continue, Some(tried)));
        assert_eq!(result.rejected, ["response"]);
        assert!(gated.rewritten.is_empty());
        assert_eq!(ruling(&gated.results), GateRuling::Continue);
    }
}

/// Asks gates before a model call, each of which says the same.
fn before_call(gates: &[Arc<Gate>], modified: &Value) -> GateOutcome {
    let on = |gate: &Arc<Gate>| Arc::new(Gate { on: GateTrigger::OnModelCall, ..(**gate).clone() });
    let gates: Vec<_> = gates.iter().map(on).collect();
    let mut pass = GatePass::new(&gates, &[GateTrigger::OnModelCall], GateContext::new());
    while pass.next_gate().is_some() {
        pass.take_answer(Ok(says(Continue, modified.clone())), 7);
    }
    pass.into_outcome()
}

#[test]
fn before_a_model_call_gates_may_give_context_and_the_first_of_them_a_reply() {
    let gates = [gate("a", Policy), gate("b", Policy), gate("advice", Quality)];
    let outcome = before_call(&gates, &json!({"context": "see a.md", "reply": "done"}));
    let from = outcome.context.iter().map(|text| text.gate.as_str());
    assert_eq!(from.collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(outcome.reply.map(|reply| reply.gate.to_string()).as_deref(), Some("a"));
    assert!(outcome.rewritten.is_empty());
    let changed: Vec<_> = outcome.results.iter().map(|result| result.changed.join(" ")).collect();
    assert_eq!(changed, ["context reply", "context", ""]);
    assert_eq!(outcome.results[2].rejected, ["context", "reply"], "an advising gate gives nothing");
}

#[test]
fn an_empty_text_is_none_a_long_context_is_cut_and_a_reply_may_be_json() {
    let outcome = before_call(&[gate("a", Policy)], &json!({"context": " ", "reply": null}));
    assert_eq!((outcome.context.len(), outcome.reply), (0, None));
    let outcome = before_call(
        &[gate("a", Policy)],
        &json!({"context": "é".repeat(CALL_CONTEXT_CHARS + 1), "reply": {"words": 3}}),
    );
    assert_eq!(outcome.context[0].text.chars().count(), CALL_CONTEXT_CHARS + 1);
    assert!(outcome.context[0].text.ends_with("é…"));
    assert_eq!(outcome.reply.map(|reply| reply.text).as_deref(), Some("{\"words\":3}"));
}

#[test]
fn a_policy_gate_that_cannot_be_asked_blocks_with_the_reason() {
    let (gated, _) = play(&[gate("a", Policy)], json!({}), |_| Err("timeout after 30 s".into()));
    let result = &gated.results[0];
    assert_eq!(result.action, Block);
    assert_eq!(result.reason, "timeout after 30 s");
}

#[test]
fn a_quality_gate_that_cannot_be_asked_lets_pass_with_a_flag() {
    let (gated, _) = play(&[gate("a", Quality)], json!({}), |_| Err("it is gone".into()));
    let result = &gated.results[0];
    assert_eq!((result.action, result.ignored), (Continue, None));
    assert_eq!(result.flags, ["not_asked"]);
    assert_eq!(result.reason, "it is gone");
}

#[test]
fn without_a_model_an_llm_gate_lets_pass_and_a_promoted_one_blocks() {
    for (lane, action, flags) in [(Quality, Continue, &["llm_error"][..]), (Policy, Block, &[])] {
        let provider =
            GateProvider::Llm(LlmJudge { prompt: "Is it kind?".into(), promote_to_policy: lane == Policy });
        let gate = Gate { lane, provider, ..sample::gate("kind") };
        let (gated, _) = play(&[Arc::new(gate)], json!({}), |gate| Err(no_provider(&gate.provider)));
        let result = &gated.results[0];
        assert_eq!(result.action, action);
        assert_eq!(result.reason, "No provider: llm");
        assert_eq!(result.flags, flags);
    }
}

#[test]
fn an_answer_that_nobody_asked_for_counts_nothing() {
    let mut pass = GatePass::new(&[gate("a", Policy)], &[GateTrigger::OnOutput], GateContext::new());
    pass.take_answer(Ok(GateAnswer::block("early")), 0);
    assert!(pass.next_gate().is_some());
    assert!(pass.next_gate().is_some(), "it is still the same");
    pass.take_answer(Ok(GateAnswer::pass()), 0);
    pass.take_answer(Ok(GateAnswer::block("late")), 0);
    assert!(pass.next_gate().is_none());
    assert_eq!(pass.into_outcome().results.len(), 1);
}

fn actions() -> impl Strategy<Value = Option<GateAction>> {
    prop_oneof![Just(Some(Continue)), Just(Some(RequireApproval)), Just(Some(Block)), Just(None),]
}

fn keys() -> impl Strategy<Value = Vec<&'static str>> {
    let keys = ["response", "message", "tool_args", "params", "run", "step"];
    prop::sample::subsequence(keys.to_vec(), 0..=6)
}

proptest! {
    #[test]
    fn whatever_gates_say_the_rules_hold(
        said in prop::collection::vec((any::<bool>(), actions(), keys()), 0..8)) {
        let lane = |decides: bool| if decides { Policy } else { Quality };
        let gates: Vec<_> = said
            .iter()
            .enumerate()
            .map(|(at, (decides, ..))| gate(&format!("g{at}"), lane(*decides)))
            .collect();
        let before = json!({ "params": "p", "run": "r" });
        let (gated, seen) = play(&gates, before, |gate| {
            let at: usize = gate.id.as_str()[1..].parse().unwrap();
            let (_, action, keys) = &said[at];
            let modified = keys.iter().map(|key| ((*key).to_owned(), json!(at))).collect();
            match action {
                None => Err("gone".into()),
                Some(action) => Ok(says(*action, Value::Object(modified))),
            }
        });
        // Every gate is asked once, the deciding ones first, else in order.
        let mut expected: Vec<_> = gates.clone();
        expected.sort_by_key(|gate| gate.lane);
        prop_assert_eq!(ids(&seen), expected.iter().map(|gate| gate.id.as_str()).collect::<Vec<_>>());
        // Only the three keys change, in the context and in the outcome.
        prop_assert!(gated.rewritten.keys().all(|key| ALLOWED_MUTATIONS.contains(&key.as_str())));
        for (_, context) in &seen {
            prop_assert_eq!(&context["params"], "p");
            prop_assert_eq!(&context["run"], "r");
            prop_assert_eq!(context.get("step"), None);
        }
        // The first deciding gate that blocks, or could not be asked, decides.
        let first = said.iter().position(|(decides, action, _)| {
            *decides && matches!(action, None | Some(Block))
        });
        let found = match ruling(&gated.results) {
            GateRuling::Block { gate, .. } => Some(gate.to_string()),
            _ => None,
        };
        prop_assert_eq!(found, first.map(|at| format!("g{at}")));
        // Quality gates always continue.
        let quality = gated.results.iter().filter(|result| result.lane == Quality);
        prop_assert!(quality.clone().all(|result| result.action == Continue));
        prop_assert!(quality.clone().all(|result| result.changed.is_empty()));
    }
}
