//! Runs on a backend that repeat others, with runs nested in them: what succeeded in those is reused as here.

use std::process::Command;

use crate::{
    farm::Farm,
    mirrors::compare_with_state,
    programs::{Did, program},
};

const OUTER: &str = r#"params: {words: {type: array, items: {type: string}, default: [a, b]}}
policy: {on_failure: continue}
steps:
  - {id: first, run: 'echo first >> "MARKS/first"'}
  - {id: many, depends_on: [first], for_each: params.words, uses: middle.md, with: {word: "{{ item }}"}}
  - {id: last, depends_on: [many], run: cat out/a.txt out/b.txt}"#;

const MIDDLE: &str = r#"params: {word: {type: string}}
outputs: {said: {value: "{{ steps.below.outputs.said }}", type: string}}
steps:
  - {id: below, uses: below.md, with: {word: "{{ params.word }}"}}
  - {id: after, depends_on: [below], run: echo after}"#;

const BELOW: &str = r#"params: {word: {type: string}}
outputs: {said: {value: "{{ steps.made.outputs.said }}", type: string}}
steps:
  - id: made
    cache: {inputs: [], outputs: ["out/{{ params.word }}.more"]}
    artifacts: ["out/{{ params.word }}.txt"]
    run: |
      echo "$WF_PARAM_WORD" >> "MARKS/made"
      mkdir -p out
      echo "$WF_PARAM_WORD" > "out/$WF_PARAM_WORD.txt"
      echo more > "out/$WF_PARAM_WORD.more"
      echo "said=$WF_PARAM_WORD" >> "$WF_OUTPUT"
    outputs: {said: {type: string}}
    verify: [{name: there, run: "ls out", expect: {contains: .txt}}]
  - id: used
    depends_on: [made]
    env: {SAID: "{{ steps.made.outputs.said }}"}
    run: 'cat "out/$SAID.txt"; test "$SAID" = a || test -e "MARKS/ok"'"#;

/// A farm with a run that failed in one of the runs nested in it.
fn failed(run: &[&str]) -> Farm {
    let farm = Farm::new(2);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    for (id, text) in [("outer", OUTER), ("middle", MIDDLE), ("below", BELOW)] {
        farm.plan(id, &text.replace("MARKS", marks.to_str().unwrap()));
    }
    farm.wf(run).exits(1);
    farm.file("../marks/ok", "");
    assert_eq!(made(&farm), 2);
    farm
}

/// Returns how often the inner steps did their work.
fn made(farm: &Farm) -> usize {
    std::fs::read_to_string(farm.path("marks/made")).unwrap().lines().count()
}

/// Returns the number of results that the latest run and those nested in it reused. A file that only the cache restores is
/// not brought back from a backend: then its step reuses the cached result.
fn reused(farm: &Farm) -> usize {
    let of = |run| ["step_reused", "item_reused", "cache_hit"].map(|name| farm.count(run, name, None));
    farm.runs().values().flat_map(|run| of(run)).sum()
}

const RETRY: [&str; 3] = ["retry", "--json", "--last"];

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_succeeded_inside_is_reused_as_here() {
    let farm = failed(&["run", "--on", "farm", "outer.md"]);
    assert_eq!(compare_with_state(&farm, &RETRY), Some(0));
    assert_eq!((made(&farm), reused(&farm)), (2, 3), "first, the item a, and what b had made");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_succeeded_inside_a_run_here_is_reused_there() {
    let farm = failed(&["run", "outer.md"]);
    assert_eq!(compare_with_state(&farm, &RETRY), Some(0));
    assert_eq!((made(&farm), reused(&farm)), (2, 3));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_changed_since_is_made_again_inside_and_a_retry_of_a_retry_reuses_the_rest() {
    let farm = failed(&["run", "--on", "farm", "outer.md"]);
    std::fs::remove_file(farm.path("marks/ok")).unwrap();
    assert_eq!(compare_with_state(&farm, &RETRY), Some(1));
    assert_eq!(made(&farm), 2);
    farm.file("../marks/ok", "");
    farm.file("out/b.txt", "other\n");
    assert_eq!(compare_with_state(&farm, &RETRY), Some(0));
    assert!(made(&farm) > 2, "b is made again");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn files_that_git_ignores_go_with_the_results_that_have_them() {
    let farm = failed(&["run", "--on", "farm", "outer.md"]);
    farm.file(".gitignore", "out/\n.wf/\n");
    let mut git: Command = program("git", &farm.path("space"), &farm.path("home"));
    Did::of(git.args(["init", "--quiet"])).exits(0);
    farm.wf(&["retry", "--last", "--on", "farm"]).exits(0);
    assert_eq!((made(&farm), reused(&farm)), (2, 3));
}
