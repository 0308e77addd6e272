//! Items that their step names by a property.

use serde_json::{Value, json};
use wf_core::machine::{EventKind, InputKind, ReusedResult, Standing, StepItem};
use wf_model::{ItemKeyPath, JsonObject, OnStepFailure, StepRepetition};

use super::{
    play::{Play, any, expr, play, policy, steps},
    world::{name, plan_with, run_id},
};

fn key(text: &str) -> Option<Box<ItemKeyPath>> {
    ItemKeyPath::from_expr(expr(text)).map(Box::new)
}

fn keys(play: &Play) -> Vec<String> {
    let expanded = play.events.iter().find_map(|event| match &event.fact {
        EventKind::StepExpanded { items, .. } => Some(items),
        _ => None,
    });
    expanded.into_iter().flatten().map(|item| item.key.clone()).collect()
}

#[test]
fn items_have_the_keys_that_their_step_names() {
    let mut steps = steps(&["each"]);
    steps[0].fan = StepRepetition::List(vec![json!({"path": "b", "n": 1}), json!({"path": "a", "n": 1})]);
    for (path, expected) in [(None, ["path=b,n=1", "path=a,n=1"]), (key("item.path"), ["b", "a"])] {
        steps[0].key = path;
        let mut play = Play::new(plan_with(steps.clone(), 1, policy(OnStepFailure::Stop), Vec::new()));
        play.plays();
        assert_eq!(keys(&play), expected);
    }
}

#[test]
fn a_list_without_such_keys_fails_the_step() {
    let told = |items: Value| {
        play(&["list", "each < list"], OnStepFailure::Stop, |steps| {
            steps[0].outputs = vec![any("files")];
            steps[1].fan = StepRepetition::Each(expr("steps.list.outputs.files"));
            steps[1].key = key("item.path");
        })
        .gives("list", json!({ "files": items }))
        .told()
        .remove(1)
    };
    assert_eq!(
        told(json!([{"path": "a"}, {"path": "b"}, {"path": "a", "more": true}])),
        "each failed unchecked: `key: item.path`: the items at positions 0 and 2 (from 0) have the same key `a`; remove \
         one of them, or name a property in which they differ"
    );
    assert_eq!(
        told(json!([{"path": "a"}, {"name": "b"}])),
        "each failed unchecked: `key: item.path`: the item at position 1 (from 0) has no `item.path`; name a property of \
         text, a number or a boolean that every item has"
    );
    assert_eq!(told(json!([])), "each succeeded reported");
}

/// Plays a run that reuses the results of items `a` and `b` of an earlier one, with other items now.
fn retried(items: &[Value]) -> (Vec<String>, Vec<String>) {
    let mut steps = steps(&["each"]);
    steps[0].fan = StepRepetition::List(items.to_vec());
    steps[0].key = key("item.path");
    let mut play = Play::new(plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new()));
    let kept = [("a", json!({"path": "a", "n": 1})), ("b", json!({"path": "b", "n": 2}))];
    let kept = kept.map(|(key, value)| ReusedResult {
        step: name("each"),
        item: Some(key.to_owned()),
        item_digest: Some(StepItem { key: key.to_owned(), value }.digest()),
        outputs: JsonObject::new(),
        standing: Standing::Verified,
        from: run_id(),
        evidence: Vec::new(),
    });
    let mut open = play.feed(InputKind::Begin {
        kept: kept.to_vec(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    play.run(&mut open);
    let dropped = play.events.iter().filter_map(|event| match &event.fact {
        EventKind::ResultDropped { item_key, reason, .. } => {
            Some(format!("{}: {reason}", item_key.as_deref().unwrap_or_default()))
        }
        _ => None,
    });
    (dropped.collect(), play.told)
}

#[test]
fn an_item_keeps_its_result_wherever_it_is_in_the_list() {
    let new = json!({"path": "c", "n": 3});
    let (dropped, told) = retried(&[new, json!({"n": 2, "path": "b"}), json!({"path": "a", "n": 1})]);
    assert_eq!(dropped, [""; 0]);
    assert_eq!(
        told,
        [
            "each[1] succeeded verified: reused from run 07070707",
            "each[2] succeeded verified: reused from run 07070707",
            "each[0] succeeded reported",
            "each succeeded reported",
            "run succeeded reported",
        ]
    );
}

#[test]
fn an_item_that_has_another_value_runs() {
    let (dropped, told) = retried(&[json!({"path": "b", "n": 2}), json!({"path": "a", "n": 7})]);
    assert_eq!(dropped, ["a: the item has another value than in run 07070707"]);
    assert_eq!(
        told,
        [
            "each[0] succeeded verified: reused from run 07070707",
            "each[1] succeeded reported",
            "each succeeded reported",
            "run succeeded reported",
        ]
    );
}
