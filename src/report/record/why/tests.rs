use super::{CacheStory, Why, why};
use crate::machine::{Guard, Place};
use crate::report::plain;
use crate::report::record::sample;

fn check(step: &str, cache: Option<&CacheStory>, expected: &str) {
    let told = why(&Why {
        record: &sample::record(),
        plan: &sample::plan(),
        place: &Place::of(&sample::name(step)),
        cache,
        again: None,
    });
    assert_eq!(plain(&told), expected);
}

#[test]
fn a_failure_names_attempts_and_the_rule_that_ended_them() {
    let expected = "\
build · failed · check `is_json` failed
  · it depends on `fetch`, which is verified
  · attempt 1 ended: exit code 2
  · its failure was logical (it ran, and the result was wrong), so it was repeated: 1 of 1 retries
  · attempt 2 said that it succeeded; its checks found otherwise: `is_json` expected exit code 0, \
        found exit code 1
  · its failure was logical (it ran, and the result was wrong), and all 1 retries were used
";
    check("build", None, expected);
}

#[test]
fn a_skip_names_the_rule() {
    let expected = "\
publish · skipped · `build` failed
  · it depends on `build`, which is failed
  · the rule: a step is skipped if its `when` is not true, or if a step that it depends on failed, \
        was skipped or was cancelled
";
    check("publish", None, expected);
}

#[test]
fn a_miss_names_what_changed() {
    let story = CacheStory {
        reuses: true,
        hit: false,
        from: None,
        against: Some(sample::run().id),
        changes: vec!["input a.txt: changed".into()],
        refused: None,
    };
    let expected = "\
fetch · verified
  · it depends on no other step
  · no earlier result could be reused; since run 1a2b3c4d:
  ·   input a.txt: changed
  · attempt 1 said that it succeeded
";
    check("fetch", Some(&story), expected);
}

fn hit() -> CacheStory {
    CacheStory {
        reuses: true,
        hit: true,
        from: Some(sample::run().id),
        against: None,
        changes: Vec::new(),
        refused: None,
    }
}

fn check_cached(change: impl FnOnce(&mut super::Record), expected: &str) {
    let mut record = sample::record();
    change(&mut record);
    let told = why(&Why {
        record: &record,
        plan: &sample::plan(),
        place: &Place::of(&sample::name("fetch")),
        cache: Some(&hit()),
        again: None,
    });
    assert!(plain(&told).contains(expected), "{told}");
}

#[test]
fn a_hit_names_the_run_and_whether_its_result_holds() {
    check_cached(
        |record| record.steps[0].cached = Some(crate::digest::Digest::of(b"").to_string()),
        "it did not run: nothing changed that its result depends on, so it has the result of \
         run 1a2b3c4d",
    );
    check_cached(
        |record| {
            let mut check = record.checks[1].clone();
            (check.step, check.attempt) = (Some(sample::name("fetch")), Some(0));
            record.checks.push(check);
        },
        "the result of run 1a2b3c4d was found, but does not hold now: `is_json` expected exit \
         code 0, found exit code 1",
    );
}

#[test]
fn what_is_stale_says_so_and_what_confined_its_checks() {
    let mut record = sample::record();
    record.steps[0].standing = crate::machine::Standing::Reported;
    record.steps[0].stale = Some("data.json".into());
    record.checks[0].verdict.guards = Some(vec![Guard::Files, Guard::Network]);
    record.checks[1].verdict.guards = Some(Vec::new());
    record.shake(&sample::plan());
    let told = |step: &str| {
        plain(&why(&Why {
            record: &record,
            plan: &sample::plan(),
            place: &Place::of(&sample::name(step)),
            cache: None,
            again: None,
        }))
    };
    let expected = "\
fetch · reported
  · it depends on no other step
  · attempt 1 said that it succeeded
  · its checks ran in a sandbox: files network
  · it is reported, not verified: its evidence is stale, data.json changed after it was checked
";
    assert_eq!(told("fetch"), expected);
    for line in [
        "  · it depends on `fetch`, which is reported\n  · it depends on `fetch`, whose evidence is stale\n",
        "  · its checks ran with the sandbox: off\n",
    ] {
        let text = told("build");
        assert!(text.contains(line), "{line} in {text}");
    }
}
