//! Pipelines through the real program: `inspect` and `test` send the work back, and people let
//! pass what they do not.

use serde_json::Value;

use crate::{
    decisions::last,
    support::{Did, Office, Sandbox},
};

/// A step whose work writes one more letter each time, and says what it was told.
const WORKER: &str = "run: |\n      printf x >> made.txt\n\
                      \x20     if test -n \"${WF_CORRECTION_FILE:-}\"; then cp \"$WF_CORRECTION_FILE\" \
                      told.$WF_ATTEMPT.json; fi\n";

/// A plan with that step, and further keys of the step.
fn plan(keys: &str) -> String {
    format!("---\nkind: plan\nid: p\nsteps:\n  - id: work\n    {WORKER}    {keys}\n---\n")
}

/// A check that holds once so many letters are there.
fn letters(name: &str, many: u32) -> String {
    format!("{{name: {name}, run: test \"$(wc -c < made.txt)\" -ge {many}}}")
}

fn ran(plan: &str) -> (Sandbox, Did) {
    let place = Sandbox::new();
    place.file("plan.md", plan);
    let did = place.wf(&["run", "plan.md", "-v"]);
    (place, did)
}

fn shown(place: &Sandbox) -> Value {
    let text = place.wf(&["show", "--last", "--json"]).exits(0).out;
    serde_json::from_str(&text).unwrap()
}

/// The names and phases of the criteria that were ruled on, in order.
fn asked(place: &Sandbox) -> Vec<String> {
    let record = shown(place);
    let checks = record["checks"].as_array().unwrap().iter();
    let told = checks.map(|check| {
        let attempt = check["attempt"].as_u64().unwrap_or_default();
        let verdict = &check["verdict"];
        let verdict = if verdict.is_null() { check } else { verdict };
        let phase = verdict["phase"].as_str().unwrap_or("verify");
        format!(
            "{attempt} {phase} {} {}",
            verdict["name"].as_str().unwrap(),
            verdict["ruling"].as_str().unwrap()
        )
    });
    told.collect()
}

#[test]
fn what_inspect_and_test_find_sends_the_work_back_until_both_hold() {
    let keys = format!(
        "inspect: [{}, {}]\n    test: [{}]\n    verify: [{}]",
        letters("any", 1),
        letters("lint", 2),
        letters("unit", 3),
        letters("right", 3)
    );
    let (place, did) = ran(&plan(&keys));
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert!(did.all().contains("1 verified"), "{}", did.all());
    assert!(did.all().contains("work · attempt 2 · inspect 1/3"), "{}", did.all());
    assert_eq!(
        asked(&place),
        [
            "1 inspect any pass",
            "1 inspect lint fail",
            "2 inspect any pass",
            "2 inspect lint pass",
            "2 test unit fail",
            // After a loop of `test` the work is inspected anew.
            "3 inspect any pass",
            "3 inspect lint pass",
            "3 test unit pass",
            "3 verify right pass",
        ]
    );
    let told: Value = serde_json::from_str(&place.read("told.3.json")).unwrap();
    assert_eq!(told["loop"]["phase"], "test", "{told:#}");
    assert_eq!(told["failed"][0]["criterion"], "unit", "{told:#}");
    assert_eq!(told["failed"][0]["phase"], "test", "{told:#}");
    place.wf(&["show", "--last"]).exits(0).says("inspect 1/3").says("test 1/3");
    place
        .wf(&["why", "--last", "work"])
        .exits(0)
        .says("`inspect` failed, rework 1 of 3")
        .says("`test` failed, rework 1 of 3");
    // All phases are asked again, by whoever wants to know.
    let again = place.wf(&["verify", "--last"]).exits(0);
    for name in ["lint", "unit", "right"] {
        assert!(again.all().contains(name), "{}", again.all());
    }
}

#[test]
fn a_phase_that_never_holds_fails_the_step_once_its_loops_are_used() {
    for (phase, other) in [("inspect", "test"), ("test", "inspect")] {
        let keys = format!(
            "{phase}: [{{name: never, run: 'false'}}]\n    {other}: [{}]\n    loops: {{max: 2}}\n    \
             retry: {{max: 5}}",
            letters("any", 1)
        );
        let (place, did) = ran(&plan(&keys));
        assert_eq!(did.code, Some(1), "{}", did.all());
        // The first attempt, and two loops; `retry` is not for what a phase finds.
        assert_eq!(place.read("made.txt"), "xxx", "{phase}: {}", did.all());
        place.wf(&["why", "--last", "work"]).exits(0).says(&format!("all reworks of `{phase}` are used"));
        let record = shown(&place);
        assert_eq!(record["steps"][0]["standing"], "refuted", "{record:#}");
    }
}

#[test]
fn retry_is_for_the_work_itself_and_for_verify_and_loops_do_not_use_it_up() {
    // Attempt 1 is sent back, 2 fails by itself, 3 fails `verify`, 4 is right.
    let worker = "run: printf x >> made.txt; test \"$(wc -c < made.txt)\" -ne 2\n";
    let keys = format!(
        "inspect: [{}]\n    loops: {{max: 1}}\n    retry: {{max: 2}}\n    verify: [{}]",
        letters("lint", 2),
        letters("right", 4)
    );
    let (place, did) = ran(&plan(&keys).replace(WORKER, worker));
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(place.read("made.txt"), "xxxx", "{}", did.all());
    let too_few = plan(&keys).replace(WORKER, worker);
    let (place, did) = ran(&too_few.replace("retry: {max: 2}", "retry: {max: 1}"));
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert_eq!(place.read("made.txt"), "xxx", "{}", did.all());
}

#[test]
fn a_worker_that_edits_its_inspector_is_not_believed() {
    for (phase, key) in [("inspect", "loops: {max: 1}"), ("test", "idempotent: true")] {
        let place = Sandbox::new();
        let keys = format!("{phase}: [{{name: lint, run: sh lint.sh}}]\n    {key}");
        let worker = "run: echo true > lint.sh\n";
        place.file("plan.md", plan(&keys).replace(WORKER, worker));
        place.file("lint.sh", "false\n");
        let did = place.wf(&["run", "plan.md"]).exits(1);
        did.says("changed, not declared: lint.sh");
    }
}

#[test]
fn without_loops_a_phase_decides_at_once() {
    let keys = "inspect: [{name: never, run: 'false'}]\n    loops: {max: 0}";
    let (place, did) = ran(&plan(keys));
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert_eq!(place.read("made.txt"), "x");
}

/// A run that asks ada and bob whether to ignore a phase.
fn asks(phase: &str) -> (Office, String) {
    let office = Office::new(1, &["ada", "bob", "eve"], &["ada", "bob", "eve"]);
    let keys = format!(
        "{phase}: [{{name: never, run: 'false'}}]\n    verify: [{}]\n    \
         artifacts: [made.txt]\n    writes: ['told.*']\n    loops: {{max: 1, on_exhausted: ask}}\n  - {{id: after, depends_on: [work], \
         run: echo after >> after.txt}}",
        letters("any", 1)
    );
    office.place.file("plan.md", plan(&keys));
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    let did = office.by("eve", &["run", "plan.md"]).exits(5);
    did.says(&format!("ignore `{phase}`?"));
    let run = last(&office.place);
    (office, run)
}

#[test]
fn people_may_let_a_phase_be_ignored_and_the_result_is_never_verified() {
    for phase in ["inspect", "test"] {
        let (office, run) = asks(phase);
        assert_eq!(office.place.read("made.txt"), "xx");
        office.by("bob", &["approve", &run, "--yes"]).exits(0).says("is approved");
        let did = office.by("eve", &["resume", &run]).exits(0);
        assert!(!did.all().contains("1 verified"), "{}", did.all());
        assert_eq!(office.place.read("made.txt"), "xx", "{}", did.all());
        assert_eq!(office.place.read("after.txt"), "after\n");
        let record = shown(&office.place);
        assert_eq!(record["steps"][0]["standing"], "reported", "{record:#}");
        // What is left of the checks ran all the same.
        let asked = asked(&office.place);
        assert_eq!(asked.last().unwrap(), "2 verify any pass", "{asked:?}");
        let told = format!("{phase} ignored by bob");
        office.by("eve", &["show", &run]).says(&told);
        office.by("eve", &["why", &run, "work"]).says(&told);
    }
}

#[test]
fn people_may_say_that_a_phase_counts_and_the_step_fails() {
    let (office, run) = asks("test");
    let no = ["deny", &run, "--reason", "not like this", "--yes"];
    office.by("bob", &no).exits(0);
    let did = office.by("eve", &["resume", &run]).exits(1);
    did.says("check `never`").says("not like this");
    assert!(!office.place.at("after.txt").exists());
    let record = shown(&office.place);
    assert_eq!(record["steps"][0]["standing"], "refuted", "{record:#}");
}

#[test]
fn a_yes_is_void_once_what_was_looked_at_has_changed() {
    let (office, run) = asks("inspect");
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    office.place.file("made.txt", "other");
    office.by("eve", &["resume", &run]).exits(5).says("made.txt changed after it was checked");
    office.place.file("made.txt", "xx");
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    office.by("eve", &["resume", &run]).exits(0);
}

#[test]
fn the_plans_own_checks_have_phases_and_no_loops() {
    let (place, did) = ran(&plan("idempotent: true").replace(
        "\n---\n",
        "\ninspect: [{name: whole, run: 'true'}]\ntest: [{name: together, run: 'false'}]\n\
         verify: [{name: right, run: 'true'}]\n---\n",
    ));
    assert_eq!(did.code, Some(1), "{}", did.all());
    did.says("check together");
    // `verify` is not asked once `test` does not hold, and nothing runs again.
    assert_eq!(asked(&place), ["0 inspect whole pass", "0 test together fail"]);
    assert_eq!(place.read("made.txt"), "x");
}

#[test]
fn fewer_loops_weaker_checks_and_people_who_may_ignore_are_told_as_changes() {
    let place = Sandbox::new();
    let checks = "inspect: [{name: lint, run: 'true'}]\n    test: [{name: unit, run: 'true'}]\n    ";
    place.file("old.md", plan(&format!("{checks}loops: {{max: 2}}")));
    for (keys, says) in [
        (format!("{checks}loops: {{max: 2, on_exhausted: ask}}"), "steps.work.loops.on_exhausted weaker"),
        ("inspect: [{name: lint, run: 'true'}]\n    loops: {max: 2}".into(), "steps.work.test.unit weaker"),
        ("idempotent: false".into(), "steps.work.inspect.lint weaker"),
    ] {
        place.file("new.md", plan(&keys));
        let did = place.wf(&["diff", "old.md", "new.md"]);
        let weaker = did.out.split("\n\n").find(|part| part.starts_with("WEAKER"));
        assert!(weaker.is_some_and(|part| part.contains(says)), "{says}: {}", did.all());
    }
}
