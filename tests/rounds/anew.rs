//! What a round leaves behind, and what begins anew in the next.

use serde_json::json;

use super::{plan, rounds, shown};
use crate::support::Sandbox;

#[test]
fn a_used_plan_is_a_way_like_others_and_takes_no_round_from_what_is_told() {
    let place = Sandbox::new();
    let inner = |id: &str, word: &str| {
        format!("---\nkind: plan\nid: {id}\nsteps:\n  - {{id: w, run: echo {word} > out.txt}}\n---\n")
    };
    place.file("bad.md", inner("bad", "wrong"));
    place.file("good.md", inner("good", "right"));
    let step = "  - id: all\n    uses: bad.md\n    verify: [{name: is, run: grep right out.txt}]\n\
        \x20   alternatives: [{id: other, uses: good.md}]\n";
    place.file("p.md", plan("", step));
    let did = place.wf(&["run", "p.md"]).exits(0);
    assert_eq!(rounds(&place), ["break_symmetry all=other", "accept"]);
    let did = did.says("all: `other` instead of the step as written");
    assert!(did.out.contains("\nrounds\n   1  D"), "{}", did.all());
}

#[test]
fn what_held_of_the_whole_in_a_round_before_is_not_told_of_the_last() {
    let place = Sandbox::new();
    let steps = "  - id: make\n    run: echo wrong > out.txt\n\
        \x20   alternatives: [{id: other, run: rm out.txt; exit 3}]\n\
        verify:\n  - {name: there, run: test -e out.txt}\n  - {name: right, run: grep right out.txt}\n";
    place.file("p.md", plan("", steps));
    place.wf(&["run", "p.md"]).exits(1);
    assert_eq!(shown(&place)["checks"], json!([]));
}

#[test]
fn all_items_of_a_step_that_is_done_otherwise_are_done_anew() {
    let place = Sandbox::new();
    let steps = "  - id: make\n    for_each: [a, b]\n    env: {I: '{{ item }}'}\n    run: echo one > $I.txt\n\
        \x20   alternatives: [{id: other, run: echo two > $I.txt}]\n\
        verify: [{name: two, run: cat a.txt b.txt, expect: {equals: \"two\\ntwo\"}}]\n";
    place.file("p.md", plan("", steps));
    place.wf(&["run", "p.md"]).exits(0);
    assert_eq!(rounds(&place), ["break_symmetry make=other", "accept"]);
}

#[test]
fn a_result_of_a_later_round_is_not_kept_for_what_was_looked_for_in_the_first() {
    let place = Sandbox::new();
    let steps = "  - id: pre\n    run: echo one > out.txt\n    cache: {inputs: [], outputs: [out.txt]}\n\
        \x20   alternatives: [{id: other, run: echo two > out.txt}]\n\
        verify: [{name: two, run: grep two out.txt}]\n";
    place.file("p.md", plan("", steps));
    place.wf(&["run", "p.md"]).exits(0);
    assert_eq!(place.read("out.txt"), "two\n");
    let plain = "---\nkind: plan\nid: p\nsteps:\n  - id: pre\n    run: echo one > out.txt\n    cache: {inputs: [], outputs: [out.txt]}\n---\n";
    place.file("p.md", plain);
    place.wf(&["run", "p.md"]).exits(0);
    assert_eq!(place.read("out.txt"), "one\n");
}
