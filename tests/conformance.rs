//! What others ask of approvals, waits and loops, where no other test shows it: see
//! `docs/conformance.md`.

use std::process::Child;

use serde_json::Value;

use crate::{
    crash::kill_both,
    decisions::{goes_on, last, office, shipped, waiting},
    support::{Did, Office, Sandbox, until},
};

/// Every event of a run, in order.
fn events(place: &Sandbox, run: &str) -> Vec<Value> {
    let database = place.database();
    let sql = "SELECT body FROM events WHERE run = (SELECT key FROM runs WHERE id = ?1) ORDER BY run_seq";
    let mut asked = database.prepare(sql).unwrap();
    let rows = asked.query_map([run], |row| row.get::<_, String>(0));
    let texts = rows.unwrap().map(Result::unwrap);
    texts.map(|text| serde_json::from_str(&text).unwrap()).collect()
}

/// Where the events of a kind are, of one step if one is named.
fn all(events: &[Value], kind: &str, step: Option<&str>) -> Vec<usize> {
    let is = |event: &Value| event["event"] == kind && step.is_none_or(|step| event["step"] == step);
    let numbers = events.iter().enumerate();
    numbers.filter(|(_, event)| is(event)).map(|(at, _)| at).collect()
}

fn ended(child: Child) -> Did {
    let output = child.wait_with_output().unwrap();
    Did {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Does several things at once, each as somebody.
fn hard(office: &Office, acts: &[(&str, &[&str])]) -> Vec<Did> {
    let started: Vec<Child> =
        acts.iter().map(|(who, args)| office.command(who, args).spawn().unwrap()).collect();
    started.into_iter().map(ended).collect()
}

fn begun_on(office: &Office, at: &str) -> String {
    let approve = ["approve", "plan.md", "--yes", "--out", "a.json"];
    office.at(at, "ada", &approve).exits(0);
    let run = ["run", "plan.md", "--approval", "a.json"];
    office.at(at, "eve", &run).exits(5);
    last(&office.place)
}

#[test]
fn silence_is_no_yes_however_long_it_lasts() {
    let office = office("");
    let run = begun_on(&office, "2026-11-21T09:00:00Z");
    for day in 22..28 {
        let now = format!("2026-11-{day}T09:00:00Z");
        office.at(&now, "eve", &["resume", &run]).exits(5);
    }
    let now = "2026-11-28T09:00:01Z";
    office.at(now, "eve", &["resume", &run]).exits(1).says("no answer within 7d");
    assert_eq!(shipped(&office), 0);
    let events = events(&office.place, &run);
    let answer = &events[all(&events, "approval_resolved", None)[0]];
    assert_eq!(answer["decision"], "expired");
}

#[test]
fn an_answer_after_its_time_is_refused() {
    let office = office("timeout: 1h");
    let run = begun_on(&office, "2026-11-21T09:00:00Z");
    for verdict in ["approve", "deny"] {
        office
            .at("2026-11-21T10:00:00Z", "bob", &[verdict, &run, "--yes"])
            .exits(4)
            .says("the deadline to answer was 2026-11-21T10:00:00.000Z");
    }
    let resumed = office.at("2026-11-21T10:00:01Z", "eve", &["resume", &run]);
    resumed.exits(1).says("no answer within");
    assert_eq!(shipped(&office), 0);
}

#[test]
fn the_decision_is_recorded_before_its_effect() {
    let office = office("");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    goes_on(&office, &run).exits(0);
    let events = events(&office.place, &run);
    let asked = all(&events, "approval_requested", None);
    let answered = all(&events, "approval_resolved", None);
    let began = all(&events, "attempt_started", Some("ship"));
    assert_eq!([asked.len(), answered.len(), began.len()], [1, 1, 1]);
    assert!(asked[0] < answered[0] && answered[0] < began[0]);
    let answer = &events[answered[0]];
    assert_eq!(answer["decision"], "approved");
    assert_eq!(answer["by"][0]["name"], "bob");
    assert_eq!(answer["tokens"].as_array().unwrap().len(), 1);
    assert!(answer["at"].is_string());
}

#[test]
fn many_who_resume_at_once_after_one_yes_have_one_effect() {
    let office = office("");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    let resume: &[&str] = &["resume", &run];
    let did = hard(&office, &[("eve", resume), ("bob", resume), ("ada", resume)]);
    assert!(did.iter().any(|did| did.code == Some(0)), "{did:?}");
    assert_eq!(shipped(&office), 1, "{did:?}");
    let events = events(&office.place, &run);
    assert_eq!(all(&events, "approval_resolved", None).len(), 1);
    assert_eq!(all(&events, "attempt_started", Some("ship")).len(), 1);
    goes_on(&office, &run);
    assert_eq!(shipped(&office), 1);
}

#[test]
fn of_a_yes_and_a_no_at_once_one_stands() {
    let office = office("");
    for _ in 0..4 {
        let (run, before) = (waiting(&office), shipped(&office));
        let yes: &[&str] = &["approve", &run, "--yes"];
        let no: &[&str] = &["deny", &run, "--yes"];
        let did = hard(&office, &[("bob", yes), ("ada", no)]);
        let codes = [did[0].code, did[1].code];
        let is_yes = codes == [Some(0), Some(4)];
        assert!(is_yes || codes == [Some(4), Some(0)], "{did:?}");
        goes_on(&office, &run).exits(i32::from(!is_yes));
        assert_eq!(shipped(&office) - before, usize::from(is_yes));
    }
}

#[test]
fn one_run_joins_proposal_decision_and_effect() {
    let office = office("");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    goes_on(&office, &run).exits(0);
    let shown = office.by("eve", &["show", &run, "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["run"]["id"], run.as_str());
    assert_eq!(shown["approved"]["by"][0]["name"], "ada");
    assert_eq!(shown["approved"]["plan_digest"].as_str().unwrap().len(), 64);
    let question = &shown["questions"][0];
    assert_eq!(question["ask"]["message"], "Ship it?");
    assert_eq!(question["given"]["by"][0]["name"], "bob");
    let steps = shown["steps"].as_array().unwrap();
    let ship = steps.iter().find(|step| step["step"] == "ship").unwrap();
    assert_eq!(ship["state"], "succeeded");
}

#[test]
fn a_run_that_waits_is_found_and_says_until_when() {
    let office = office("");
    let run = waiting(&office);
    let runs = office.by("bob", &["runs", "--json"]).exits(0).out;
    let runs: Value = serde_json::from_str(&runs).unwrap();
    assert_eq!(runs["runs"][0]["life"], "waiting");
    assert_eq!(runs["runs"][0]["id"], run.as_str());
    let shown = office.by("bob", &["show", &run, "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let question = &shown["questions"][0];
    assert!(question["given"].is_null() && question["ask"]["expires"].is_string());
    assert!(shown["owner"].is_null(), "nobody works on it");
}

#[test]
fn no_step_is_told_of_a_key() {
    let office = office("");
    let plan = "---\nkind: plan\nid: look\nsteps:\n  - {id: look, run: env > seen.txt}\n---\n";
    office.place.file("look.md", plan);
    office.by("ada", &["approve", "look.md", "--yes"]).exits(0);
    office.by("eve", &["run", "look.md"]).exits(0);
    let seen = office.place.read("seen.txt");
    assert!(seen.contains("WF_RUN="), "{seen}");
    let keys = office.people.path().display().to_string();
    for word in ["WF_KEYS", &keys, "PRIVATE KEY"] {
        assert!(!seen.contains(word), "{seen}");
    }
}

#[test]
fn a_retry_asks_anew_for_what_runs_again_behind_a_decision() {
    let place = Sandbox::new();
    let yes = |code: i32| {
        let run = last(&place);
        place.wf(&["approve", &run, "--yes"]).exits(0);
        place.wf(&["resume", &run]).exits(code);
    };
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\nsteps:\n\
         \x20 - {id: build, run: echo made > out.txt, artifacts: [out.txt]}\n\
         \x20 - {id: ok, depends_on: [build], approve: {message: 'Ship it?'}}\n\
         \x20 - {id: done, depends_on: [ok], run: echo done >> done.txt}\n\
         \x20 - {id: ship, depends_on: [ok], run: '[ -e go ] && cat out.txt >> on'}\n---\n",
    );
    place.wf(&["run", "plan.md"]).exits(5);
    yes(1);
    place.file("go", "");
    let first = last(&place);
    for only in [&[][..], &["--only", "ship"]] {
        place.wf(&[&["retry", &first], only].concat()).exits(5);
        assert_eq!(place.read("on"), "");
        place.wf(&["cancel", "--last"]);
    }
    place.wf(&["retry", &first]).exits(5);
    yes(0);
    assert_eq!(place.read("on"), "made\n");
    assert_eq!(place.read("done.txt"), "done\n", "what succeeded is kept");
    // What is over stays over: nothing runs, and nobody is asked.
    place.wf(&["retry", "--last"]).exits(0);
}

/// A plan whose step fails each time, and waits in its second attempt until it is let go.
fn failing(more: &str) -> Sandbox {
    let place = Sandbox::new();
    let (exit, also) = if more.contains("gates") {
        let also = "escalation: {again: {action: retry, max_retries: 2}}\n";
        ("true", also)
    } else {
        ("false", "")
    };
    let plan = format!(
        "---\nkind: plan\nid: p\n{also}steps:\n\
         \x20 - id: a\n    {more}\n    run: |\n      echo on >> on\n\
         \x20     if [ $WF_ATTEMPT = 2 ]; then until [ -e go ]; do sleep 0.02; done; fi\n\
         \x20     {exit}\n---\n"
    );
    place.file("plan.md", plan);
    place
}

fn lines(place: &Sandbox) -> usize {
    place.read("on").lines().count()
}

#[test]
fn a_restart_gives_no_attempts_back() {
    let gate = "gates: [{id: no, on: after_step, provider: predicate, check: string_match, \
                extract: $.plan, config: {allowed_values: [q]}, on_block: again}]";
    for more in ["retry: {max: 2}", gate] {
        let place = failing(more);
        let mut run = place.start(&["run", "plan.md"]);
        until("the second attempt runs", || lines(&place) == 2);
        run.kill().unwrap();
        run.wait().unwrap();
        place.file("go", "");
        place.wf(&["resume", "--last"]).exits(1);
        assert_eq!(lines(&place), 3, "{more}");
        place.wf(&["resume", "--last"]);
        assert_eq!(lines(&place), 3, "{more}");
    }
}

#[test]
fn an_attempt_that_nobody_saw_end_counts_as_one() {
    let place = failing("retry: {max: 2, on: [interrupted, logical]}");
    let mut run = place.start(&["run", "plan.md"]);
    until("the second attempt runs", || lines(&place) == 2);
    kill_both(&mut run);
    place.wf(&["resume", "--last"]).exits(1);
    assert_eq!(lines(&place), 3);
}

#[test]
fn a_restart_gives_no_time_back() {
    for (now, code, times) in [("2026-11-21T09:59:00Z", 0, 2), ("2026-11-21T10:00:01Z", 1, 1)] {
        let place = Sandbox::new();
        let work = "echo on >> on; [ -e go ] || sleep 50";
        let plan = format!(
            "---\nkind: plan\nid: p\ntimeout: 1h\nsteps:\n  - {{id: a, idempotent: true, run: '{work}'}}\n---\n"
        );
        place.file("plan.md", plan);
        let mut begin = place.command(&["run", "plan.md"]);
        let begin = begin.env("WF_NOW", "2026-11-21T09:00:00Z");
        let mut run = begin.spawn().unwrap();
        until("the step runs", || lines(&place) == 1);
        kill_both(&mut run);
        place.file("go", "");
        let mut resume = place.command(&["resume", "--last"]);
        Did::of(resume.env("WF_NOW", now)).exits(code);
        assert_eq!(lines(&place), times, "{now}");
    }
}

#[test]
fn a_gate_without_an_answer_lets_nothing_happen() {
    for gate in [
        "run: kill -9 $$",
        "run: sleep 20, timeout: 200ms",
        "run: ./nowhere",
        "run: 'echo \"action: perhaps\"'",
    ] {
        let place = Sandbox::new();
        place.file(
            "plan.md",
            format!(
                "---\nkind: plan\nid: p\nsteps:\n  - {{id: a, run: echo on >> on, \
                 gates: [{{id: look, on: before_step, provider: script, {gate}}}]}}\n---\n"
            ),
        );
        place.wf(&["run", "plan.md"]).exits(1).says("gate `look`");
        assert_eq!(lines(&place), 0, "{gate}");
    }
}
