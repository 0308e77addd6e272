use std::sync::Arc;

use super::{CacheExplanation, StepExplanation, explain_step};
use crate::record::tests::sample;
use wf_base::untrusted::plain;
use wf_core::machine::{IsolationKind, TaskId};
use wf_model::FailureClass;

fn check(step: &str, cache: Option<&CacheExplanation>, expected: &str) {
    let told = explain_step(&StepExplanation {
        record: &sample::record(),
        plan: &sample::plan(),
        task_id: &TaskId::of_step(&sample::name(step)),
        cache,
        rerun_reason: None,
    });
    assert_eq!(plain(&told), expected);
}

#[test]
fn a_failure_names_attempts_and_the_rule_that_ended_them() {
    let expected = "\
build · failed · check `is_json` failed
  · depends on `fetch` (verified)
  · attempt 1 failed: exit code 2
  · failure class: logical (it ran, but the result was wrong); retried (1 of 1 retries)
  · attempt 2 exited 0, but its checks failed: `is_json` expected exit code 0, \
        found exit code 1 · it printed: line 3: no comma
  · failure class: logical (it ran, but the result was wrong); all 1 retries were used
";
    check("build", None, expected);
}

#[test]
fn an_attempt_beyond_the_retries_names_its_reason() {
    let retried = |failure_class, idempotent| {
        let mut step = sample::plan().steps()[0].clone();
        Arc::make_mut(&mut step.retry).max = 0;
        step.idempotent = idempotent;
        super::retry_explanation(1, failure_class, &step, false).unwrap()
    };
    let interrupted = retried(FailureClass::Interrupted, true);
    assert!(interrupted.ends_with("; retried: the step is `idempotent`"), "{interrupted}");
    let guided = retried(FailureClass::Logical, true);
    assert!(guided.ends_with("; retried: it got guidance"), "{guided}");
}

#[test]
fn a_skip_names_the_rule() {
    let expected = "publish · skipped · `build` failed
  · depends on `build` (failed)
  · rule: a step is skipped if its `when` is false, or if one of its dependencies failed, was skipped or was cancelled
";
    check("publish", None, expected);
}

#[test]
fn a_miss_names_what_changed() {
    let story = CacheExplanation {
        reuses: true,
        hit: false,
        producer: None,
        compared_run: Some(sample::run().id),
        changes: vec!["input a.txt: changed".into()],
        refused: None,
    };
    let expected = "\
fetch · verified
  · no dependencies
  · cache miss; changes since run 1a2b3c4d:
  ·   input a.txt: changed
  · attempt 1 exited 0
";
    check("fetch", Some(&story), expected);
}

fn hit() -> CacheExplanation {
    CacheExplanation {
        reuses: true,
        hit: true,
        producer: Some(sample::run().id),
        compared_run: None,
        changes: Vec::new(),
        refused: None,
    }
}

fn check_cached(change: impl FnOnce(&mut super::RunRecord), expected: &str) {
    let mut record = sample::record();
    change(&mut record);
    let told = explain_step(&StepExplanation {
        record: &record,
        plan: &sample::plan(),
        task_id: &TaskId::of_step(&sample::name("fetch")),
        cache: Some(&hit()),
        rerun_reason: None,
    });
    assert!(plain(&told).contains(expected), "{told}");
}

#[test]
fn a_hit_names_the_run_and_whether_its_result_holds() {
    check_cached(
        |record| record.steps[0].cache_key = Some(wf_base::digest::Sha256Digest::of_bytes(b"").to_string()),
        "it did not run: its inputs are unchanged, so it reused the result of \
         run 1a2b3c4d",
    );
    check_cached(
        |record| {
            let mut check = record.checks[1].clone();
            (check.step, check.attempt) = (Some(sample::name("fetch")), Some(0));
            record.checks.push(check);
        },
        "the result of run 1a2b3c4d was found, but its checks fail now: `is_json` expected exit \
         code 0, found exit code 1",
    );
}

#[test]
fn what_is_stale_says_so_and_what_confined_its_checks() {
    let mut record = sample::record();
    record.steps[0].standing = wf_core::machine::Standing::Reported;
    record.steps[0].stale = Some("data.json".into());
    record.checks[0].verdict.isolation = Some(vec![IsolationKind::Files, IsolationKind::Network]);
    record.checks[1].verdict.isolation = Some(Vec::new());
    record.mark_stale_dependants(&sample::plan());
    let told = |step: &str| {
        plain(&explain_step(&StepExplanation {
            record: &record,
            plan: &sample::plan(),
            task_id: &TaskId::of_step(&sample::name(step)),
            cache: None,
            rerun_reason: None,
        }))
    };
    let expected = "\
fetch · reported
  · no dependencies
  · attempt 1 exited 0
  · its checks ran in a sandbox: files network
  · it is reported, not verified: its evidence is stale, data.json changed after it was checked
";
    assert_eq!(told("fetch"), expected);
    for line in [
        "  · depends on `fetch` (reported)\n  · depends on `fetch`, whose evidence is stale\n",
        "  · its checks ran without a sandbox\n",
    ] {
        let text = told("build");
        assert!(text.contains(line), "{line} in {text}");
    }
}
