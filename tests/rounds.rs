//! Rounds of replanning through the real program: what failed is done in another declared way, and
//! what holds stays.

mod anew;
mod approved;
mod audited;
mod ends;

use serde_json::{Value, json};

use crate::{
    crash::kill_both,
    support::{Did, Sandbox, until},
};

/// A plan with these steps, and these numbers of `replan`.
fn plan(replan: &str, rest: &str) -> String {
    format!("---\nkind: plan\nid: p\nreplan: {{{replan}}}\nsteps:\n{rest}\n---\n")
}

fn ran(replan: &str, rest: &str) -> (Sandbox, Did) {
    let place = Sandbox::new();
    place.file("p.md", plan(replan, rest));
    let did = place.wf(&["run", "p.md"]);
    (place, did)
}

fn shown(place: &Sandbox) -> Value {
    let text = place.wf(&["show", "--last", "--json"]).exits(0).out;
    serde_json::from_str(&text).unwrap()
}

/// What each round led to, and what was changed: `change_path fetch=near`.
fn rounds(place: &Sandbox) -> Vec<String> {
    let record = shown(place);
    let all = record["rounds"].as_array().cloned().unwrap_or_default();
    let told = all.iter().map(|round| {
        let mut text = round["directive"].as_str().unwrap().to_owned();
        for change in round["changes"].as_array().into_iter().flatten() {
            let (step, to) = (change["step"].as_str(), change["to"].as_str());
            text += &format!(" {}={}", step.unwrap(), to.unwrap_or("as written"));
        }
        if round.get("stop_reason").is_some() {
            text += " stuck";
        }
        text
    });
    told.collect()
}

/// What ran, a word each.
fn trail(place: &Sandbox) -> Vec<String> {
    let text = place.read("ran.txt");
    text.lines().map(ToOwned::to_owned).collect()
}

/// A step whose mirror is dead, with another that is not.
const FETCH: &str = "  - id: fetch\n    target: dead\n    env: {FROM: dead}\n    run: |\n\
    \x20     echo \"fetch $FROM\" >> ran.txt\n\
    \x20     test \"$FROM\" != dead || { echo 'curl: (7) Connection refused' >&2; exit 7; }\n\
    \x20     echo \"$FROM\" > got.txt\n\
    \x20   verify: [{name: there, run: test -s got.txt}]\n\
    \x20   alternatives:\n\
    \x20     - {id: near, target: near, env: {FROM: near}}\n";

/// A step that makes what is wrong, with another tool that does not.
const BUILD: &str = "  - id: build\n    writes: [out.txt, ran.txt]\n    run: echo build >> ran.txt; echo wrong > out.txt\n\
    \x20   verify: [{name: right, run: grep -qx right out.txt}, {name: long, run: grep -q gh out.txt}]\n\
    \x20   alternatives:\n\
    \x20     - {id: other, run: \"echo other >> ran.txt; echo right > out.txt\"}\n";

/// A step that makes a number that grows from way to way: each is wrong by one less.
fn counts(checks: usize, ways: usize) -> String {
    let mut text = String::from(
        "  - id: count\n    writes: [n.txt, ran.txt]\n    run: echo 0 > n.txt; echo way 0 >> ran.txt\n    verify:\n",
    );
    for at in 1..=checks {
        text += &format!("      - {{name: c{at}, run: test \"$(cat n.txt)\" -ge {at}}}\n");
    }
    text += "    alternatives:\n";
    for way in 1..=ways {
        text += &format!("      - {{id: w{way}, run: \"echo {way} > n.txt; echo way {way} >> ran.txt\"}}\n");
    }
    text
}

#[test]
fn a_dead_mirror_is_replaced_by_another_target_of_the_same_tool() {
    let (place, did) = ran("", FETCH);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(rounds(&place), ["change_path fetch=near", "accept"]);
    assert_eq!(trail(&place), ["fetch dead", "fetch near"]);
    let record = shown(&place);
    assert_eq!(record["rounds"][0]["blocked_targets"], json!(["dead"]));
    assert_eq!(record["rounds"][0]["failure_class"], "environmental");
    assert!(record["rounds"][0].get("blocked_tools").is_none());
    assert_eq!(record["rounds"][0]["changes"][0]["tool"], "fetch");
    assert_eq!(record["run"]["standing"], "verified", "{record:#}");
    // The end tells the way there, before the line that says how it ended.
    let out = did.out;
    let table = out.find("\nrounds\n").unwrap();
    assert!(table < out.find("succeeded · 1 verified").unwrap(), "{out}");
    let reason = place.wf(&["why", "--last", "fetch"]).exits(0);
    reason
        .says("it ran with alternative `near`, since round 2 (change_path)")
        .says("round 1 switched to an alternative")
        .says("the step has no `retry`");
    place
        .wf(&["show", "--last", "--rounds"])
        .exits(0)
        .says("targets   blocked: dead")
        .says("again     fetch");
}

#[test]
fn a_wrong_result_after_that_is_made_by_another_tool_and_what_holds_stays() {
    let build = BUILD.replace("run: echo build", "depends_on: [fetch]\n    run: echo build");
    let (place, did) = ran("", &format!("{FETCH}{build}"));
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(rounds(&place), ["change_path fetch=near", "change_approach build=other", "accept"]);
    // What was verified did not run again.
    assert_eq!(trail(&place), ["fetch dead", "fetch near", "build", "other"]);
    let record = shown(&place);
    assert_eq!(record["rounds"][1]["blocked_tools"], json!(["build"]));
    assert_eq!(record["rounds"][1]["reopened"], json!(["build"]));
    place.wf(&["why", "--last", "fetch"]).says("since round 2 (change_path)");
}

#[test]
fn where_all_holds_at_once_there_is_no_way_to_tell() {
    let (_, did) = ran("", "  - {id: a, run: 'true'}");
    let did = did.exits(0);
    assert!(!did.all().contains("rounds"), "{}", did.all());
}

#[test]
fn each_round_has_all_retries_and_attempts_go_on_counting() {
    let retry = FETCH.replace("    verify:", "    retry: {max: 2, on: [environmental]}\n    verify:");
    let dead = retry.replace(
        "{id: near, target: near, env: {FROM: near}}",
        "{id: near, target: near, run: \"echo near $WF_ATTEMPT >> ran.txt; test $WF_ATTEMPT -ge 6\\n \
         || { echo 'Connection refused' >&2; exit 7; }\\necho x > got.txt\"}",
    );
    let dead = dead.replace("-ge 6\\n", "-ge 6");
    let (place, did) = ran("", &dead);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(trail(&place), ["fetch dead", "fetch dead", "fetch dead", "near 4", "near 5", "near 6"]);
    let reason = place.wf(&["why", "--last", "fetch"]).exits(0).out;
    assert_eq!(reason.matches("retried (1 of 2 retries)").count(), 2, "{reason}");
    assert_eq!(reason.matches("retried (2 of 2 retries)").count(), 2, "{reason}");
    assert_eq!(reason.matches("all 2 retries were used").count(), 1, "{reason}");
}

#[test]
fn items_that_ended_well_stay() {
    let steps = "  - id: each\n    for_each: [a, b, c]\n    env: {ITEM: '{{ item }}', WAY: first}\n\
        \x20   run: |\n      echo \"$WAY $ITEM\" >> ran.txt\n\
        \x20     if test \"$WAY $ITEM\" = 'first b'; then echo wrong > $ITEM.txt; else echo right > $ITEM.txt; fi\n\
        \x20   max_parallel: 1\n\
        \x20   verify: [{name: right, exec: [grep, -qx, right, '{{ item }}.txt']}]\n\
        \x20   alternatives: [{id: second, tool: other, env: {WAY: second}}]\n";
    let (place, did) = ran("strict: true", &format!("{steps}policy: {{on_failure: continue}}"));
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(trail(&place), ["first a", "first b", "first c", "second b"]);
    let record = shown(&place);
    assert_eq!(record["rounds"][0]["checks"], json!({"passed": 2, "total": 3}));
}

#[test]
fn where_only_the_whole_is_wrong_the_last_step_is_done_otherwise() {
    let steps = "  - {id: one, run: echo one >> ran.txt, alternatives: [{id: uno, run: echo uno >> ran.txt}]}\n\
        \x20 - {id: two, depends_on: [one], run: echo two >> ran.txt, \
        alternatives: [{id: due, run: echo due >> ran.txt}]}\n\
        verify: [{name: italian, run: grep -q due ran.txt}]";
    let (place, did) = ran("", steps);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(trail(&place), ["one", "two", "due"]);
    assert_eq!(rounds(&place).len(), 2);
    assert_eq!(shown(&place)["rounds"][0]["failed_check"], "plan: italian");
    assert!(did.all().contains("refuted"), "{}", did.all());
}

#[test]
fn the_plans_own_criteria_are_not_asked_while_a_step_failed() {
    let steps = format!("{FETCH}verify: [{{name: whole, run: cat got.txt}}]");
    let (place, did) = ran("", &steps);
    assert_eq!(did.code, Some(0), "{}", did.all());
    let record = shown(&place);
    let own = record["checks"].as_array().unwrap().iter();
    let own = own.filter(|check| check["step"].is_null()).count();
    assert_eq!(own, 1, "{record:#}");
    // Nor do they count before they were asked.
    assert_eq!(record["rounds"][0]["checks"], json!({"passed": 0, "total": 1}));
    assert_eq!(record["rounds"][1]["checks"], json!({"passed": 2, "total": 2}));
}

#[test]
fn four_steps_of_which_one_fails_come_to_the_same_with_any_room() {
    let step = |id: &str| format!("  - {{id: {id}, run: sleep 0.05}}\n");
    let bad = "  - {id: a, run: exit 1, alternatives: [{id: other, run: 'true'}]}\n";
    let steps = [bad.to_owned(), step("b"), step("c"), step("d")].concat();
    for on_failure in ["stop", "cancel", "continue"] {
        for room in [1, 4] {
            let policy = format!("policy: {{max_parallel: {room}, on_failure: {on_failure}}}");
            let (place, did) = ran("strict: true", &format!("{steps}{policy}"));
            assert_eq!(did.code, Some(0), "{}", did.all());
            assert_eq!(rounds(&place), ["break_symmetry a=other", "accept"]);
            let first = &shown(&place)["rounds"][0];
            assert_eq!(first["loss"]["d"], 0.25, "{on_failure} {room}: {first:#}");
        }
    }
}

#[test]
fn the_next_way_is_told_what_the_one_before_did_wrong() {
    let told = BUILD.replace("echo other >> ran.txt;", "cp $WF_CORRECTION_FILE told.json;");
    let (place, did) = ran("", &told);
    assert_eq!(did.code, Some(0), "{}", did.all());
    let told: Value = serde_json::from_str(&place.read("told.json")).unwrap();
    let failed = told["failed"].as_array().unwrap().iter();
    let failed: Vec<&str> = failed.map(|one| one["criterion"].as_str().unwrap()).collect();
    assert_eq!(failed, ["right", "long"], "{told:#}");
    assert_eq!(told["gaps"], json!([{"attempt": 1, "failed": 2, "of": 2}]), "{told:#}");
}

#[test]
fn a_plan_that_is_used_heals_itself() {
    let place = Sandbox::new();
    place.file("p.md", plan("", FETCH));
    let outer = "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: p.md}\n\
        \x20 - {id: after, depends_on: [all], run: echo after >> ran.txt}\n---\n";
    place.file("outer.md", outer);
    let did = place.wf(&["run", "outer.md"]).exits(0);
    assert_eq!(trail(&place), ["fetch dead", "fetch near", "after"], "{}", did.all());
    let record = shown(&place);
    let inner = &record["nested"][0]["record"];
    assert_eq!(inner["rounds"].as_array().map(Vec::len), Some(2), "{record:#}");
    assert!(record.get("rounds").is_none(), "{record:#}");
}

#[test]
fn a_kill_between_rounds_changes_no_round() {
    let build = BUILD.replace("run: echo build", "depends_on: [fetch]\n    run: echo build");
    // Whatever dies with the engine is repeated, as nobody saw it end.
    let steps = format!("{FETCH}{build}").replace("    run:", "    idempotent: true\n    run:");
    let (whole, _) = ran("", &steps);
    let (mut points, mut late) = (0, 0);
    // A prime stride meets all sorts of points without trying each.
    for point in (1..).step_by(7) {
        let place = Sandbox::new();
        place.file("p.md", plan("", &steps));
        let mut run = place.command(&["run", "p.md"]);
        let did = Did::of(run.env("WF_CRASH", format!("engine:{point}")));
        if did.code.is_some() {
            did.exits(0);
            break;
        }
        points += 1;
        let begun = place.wf(&["runs"]).out.lines().count() > 1;
        let ended = begun && place.wf(&["show", "--last"]).out.contains("p · succeeded");
        late += u32::from(trail(&place).len() > 1);
        if begun && !ended {
            place.wf(&["resume", "--last"]).exits(0);
        } else if !begun {
            place.wf(&["run", "p.md"]).exits(0);
        }
        assert_eq!(rounds(&place), rounds(&whole), "at {point}");
        let (own, other) = (shown(&place), shown(&whole));
        for (own, other) in own["rounds"].as_array().unwrap().iter().zip(other["rounds"].as_array().unwrap())
        {
            assert_eq!(own["reopened"], other["reopened"], "at {point}");
            assert_eq!(own["checks"], other["checks"], "at {point}");
        }
    }
    assert!(points > 5 && late > 1, "{points} points, {late} of them late, are no whole run");
}

#[test]
fn a_run_that_is_gone_on_with_in_its_second_round_tells_all_of_them() {
    let slow = FETCH.replace(
        "env: {FROM: near}}",
        "run: \"echo slow >> ran.txt; until [ -e go ]; do sleep 0.01; done; echo x > got.txt\", idempotent: true}",
    );
    let slow = slow
        .replace(", idempotent: true", "")
        .replace("    target: dead\n", "    target: dead\n    idempotent: true\n");
    let place = Sandbox::new();
    place.file("p.md", plan("", &slow));
    let mut child = place.start(&["run", "p.md"]);
    until("the other way runs", || trail(&place).len() == 2);
    kill_both(&mut child);
    place.file("go", "");
    let did = place.wf(&["resume", "--last"]).exits(0);
    did.says("\nrounds\n").says("fetch: `near` instead of");
    assert_eq!(rounds(&place).len(), 2);
}

#[test]
fn an_interrupt_in_a_later_round_ends_the_rounds_and_cleans_up() {
    let slow = FETCH.replace("env: {FROM: near}}", "run: \"echo slow >> ran.txt; sleep 50\"}");
    let place = Sandbox::new();
    let tidy = "finally:\n  - {id: tidy, run: echo tidy >> ran.txt}";
    place.file("p.md", plan("", &format!("{slow}{tidy}")));
    let child = place.start(&["run", "p.md"]);
    until("the other way runs", || trail(&place).len() == 2);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(rounds(&place), ["change_path fetch=near"]);
    assert_eq!(trail(&place), ["fetch dead", "slow", "tidy"]);
}
