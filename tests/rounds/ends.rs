//! How rounds end: accepted with less than all, abandoned, out of rounds.

use serde_json::{Value, json};

use super::{counts, plan, ran, rounds, shown, trail};
use crate::support::{Did, Sandbox};

#[test]
fn what_is_little_is_accepted_and_never_told_as_all() {
    let tidy = "finally:\n  - {id: was, when: failed(), run: echo failed >> ran.txt}\n\
        \x20 - {id: is, when: succeeded(), run: echo succeeded >> ran.txt}";
    let steps = counts(4, 1).replace("echo 0 >", "echo 3 >");
    let (place, did) = ran("", &format!("{steps}{tidy}"));
    assert_eq!(did.code, Some(7), "{}", did.all());
    did.says("accepted within δ: 3 of 4 criteria; the others fail");
    assert_eq!(rounds(&place), ["success"]);
    assert_eq!(trail(&place), ["way 0", "succeeded"]);
    let record = shown(&place);
    assert_eq!(record["run"]["accepted"], json!({"passed": 3, "total": 4}), "{record:#}");
    assert_eq!(record["run"]["standing"], "reported", "{record:#}");
    assert_eq!(record["steps"][0]["standing"], "refuted", "{record:#}");
    place.wf(&["runs"]).exits(0).says("accepted");
    // Neither does a CI server take it for all.
    let told = "accepted within δ: 3 of 4 criteria; the others fail";
    let (summary, junit) = (place.at("summary.md"), place.at("junit.xml"));
    let mut run = place.command(&["run", "p.md", "--junit", junit.to_str().unwrap()]);
    run.env("GITHUB_ACTIONS", "true");
    Did::of(run.env("GITHUB_STEP_SUMMARY", &summary)).exits(7);
    assert!(place.read("summary.md").contains(told));
    let junit = place.read("junit.xml");
    assert!(junit.contains(r#"name="accepted" value="3 of 4 criteria""#), "{junit}");
    let said = place.wf(&["attest", "--last", "--statement"]).exits(0).out;
    assert!(said.contains(r#""accepted":{"passed":3,"total":4}"#), "{said}");
    place.wf(&["show", "--last"]).exits(0).says("within δ: 3 of 4 criteria");
}

#[test]
fn what_is_accepted_does_not_hide_that_its_tidying_failed() {
    let steps = counts(4, 1).replace("echo 0 >", "echo 3 >");
    let tidy = "finally:\n  - {id: tidy, run: exit 1}\n\
        \x20 - {id: was, when: failed(), run: echo failed >> ran.txt}";
    let (place, did) = ran("", &format!("{steps}{tidy}"));
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert_eq!(rounds(&place), ["success"]);
    assert_eq!(trail(&place), ["way 0", "failed"]);
    did.says("step `tidy` failed");
}

#[test]
fn strict_accepts_nothing_less_than_all() {
    for (replan, ci) in [("strict: true", ""), ("", "true")] {
        let place = Sandbox::new();
        let steps = counts(4, 4).replace("echo 0 >", "echo 3 >");
        place.file("p.md", plan(replan, &steps));
        let mut run = place.command(&["run", "p.md"]);
        let did = Did::of(run.env("CI", ci));
        assert_ne!(did.code, Some(7), "{}", did.all());
        assert_ne!(rounds(&place)[0], "success", "{}", did.all());
        let record = shown(&place);
        assert!(record["run"].get("accepted").is_none_or(Value::is_null), "{record:#}");
    }
}

#[test]
fn a_run_without_another_way_is_abandoned_and_keeps_what_it_has() {
    let steps = format!(
        "  - {{id: first, run: echo first >> ran.txt; echo x > first.txt, artifacts: [first.txt], \
         verify: [{{name: there, run: test -s first.txt}}]}}\n{}\
         finally:\n  - {{id: was, when: failed(), run: echo failed >> ran.txt}}\n\
         \x20 - {{id: is, when: succeeded(), run: echo succeeded >> ran.txt}}",
        counts(3, 1).replace("    verify:", "    depends_on: [first]\n    verify:")
    );
    let (place, did) = ran("delta: 0", &steps);
    assert_eq!(did.code, Some(1), "{}", did.all());
    did.says("abandoned · ").says("no alternative is left").says("--rounds");
    assert_eq!(trail(&place), ["first", "way 0", "way 1", "failed"]);
    let record = shown(&place);
    assert_eq!(record["run"]["state"], "abandoned", "{record:#}");
    assert_eq!(record["steps"][0]["standing"], "verified", "{record:#}");
    assert_eq!(record["artifacts"][0]["artifact"]["path"], "first.txt", "{record:#}");
    place.wf(&["runs"]).exits(0).says("abandoned");
    // A retry keeps what holds, and begins with the step as it is written.
    let retried = place.wf(&["retry", "--last"]).exits(1);
    retried.says("first · reused from run");
    assert_eq!(trail(&place)[4..], ["way 0", "way 1", "failed"]);
}

#[test]
fn no_more_rounds_follow_than_are_allowed() {
    for (replan, budget, reason) in [
        ("max_replans: 1, theta: 1", "", "1 of 1 re-planning rounds are used"),
        ("theta: 1", "budget: {max_rounds: 1}", "the budget allows no further round"),
        ("max_replans: 0", "", "`max_replans` is 0: no re-planning"),
    ] {
        let (place, did) = ran(&format!("delta: 0, {replan}"), &format!("{}{budget}", counts(9, 8)));
        assert_eq!(did.code, Some(1), "{}", did.all());
        assert!(did.all().contains(reason), "{reason}: {}", did.all());
        let many = if replan == "max_replans: 0" { 1 } else { 2 };
        assert_eq!(trail(&place).len(), many, "{}", did.all());
    }
}

#[test]
fn a_plan_that_is_used_and_accepted_with_less_than_all_is_not_verified_above() {
    let place = Sandbox::new();
    place.file("p.md", plan("", &counts(4, 1).replace("echo 0 >", "echo 3 >")));
    let outer = "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: p.md}\n---\n";
    place.file("outer.md", outer);
    place.wf(&["run", "outer.md"]);
    let record = shown(&place);
    assert_ne!(record["steps"][0]["standing"], "verified", "{record:#}");
}
