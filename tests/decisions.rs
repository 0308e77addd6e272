//! What runs ask of people, and what is tried to get round them, through the real program.

use crate::support::{Did, Office, Sandbox, until};

const PLAN: &str = "---\nkind: plan\nid: release\npolicy: {max_parallel: 1}\nsteps:\n\
    \x20 - id: build\n    run: echo made > out.txt\n    artifacts: [out.txt]\n\
    \x20   verify: [{name: there, run: test -s out.txt}]\n\
    \x20 - {id: ok, depends_on: [build], approve: {message: 'Ship it?', NEEDS}}\n\
    \x20 - {id: ship, depends_on: [ok], run: echo shipped >> shipped.txt, writes: [shipped.txt]}\n---\n";

/// A workspace in which ada, bob and eve may approve; eve starts the runs, which ada approved.
pub fn office(needs: &str) -> Office {
    let all = ["ada", "bob", "eve"];
    let office = Office::new(1, &all, &all);
    let plan = PLAN.replace("NEEDS", needs).replace(", }", "}");
    office.place.file("plan.md", plan);
    let often = ["approve", "plan.md", "--executions", "9", "--yes"];
    office.by("ada", &often).exits(0);
    office
}

/// Begins a run that comes to wait; its id.
pub fn waiting(office: &Office) -> String {
    office.by("eve", &["run", "plan.md"]).exits(5);
    last(&office.place)
}

pub fn last(place: &Sandbox) -> String {
    let database = place.database();
    let sql = "SELECT id FROM runs WHERE parent IS NULL ORDER BY key DESC LIMIT 1";
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn goes_on(office: &Office, run: &str) -> Did {
    office.by("eve", &["resume", run])
}

pub fn shipped(office: &Office) -> usize {
    office.place.read("shipped.txt").lines().count()
}

#[test]
fn a_run_waits_without_a_process_and_goes_on_after_a_yes() {
    let office = office("");
    let run = waiting(&office);
    // What is left of a keeper is its notes: the socket goes with it.
    until("the keeper is gone", || {
        let left = std::fs::read_dir(office.place.at(".wf/keepers")).unwrap();
        left.flatten().all(|file| file.path().extension().is_some_and(|kind| kind == "journal"))
    });
    office.by("bob", &["approve", &run, "--yes"]).exits(0).says("is approved");
    assert_eq!(shipped(&office), 0);
    goes_on(&office, &run).exits(0).says("approved");
    assert_eq!(shipped(&office), 1);
    office.by("eve", &["show", &run]).says("approved by bob");
    office.by("bob", &["approve", &run, "--yes"]).exits(0).says("already");
    office.by("bob", &["deny", &run, "--yes"]).exits(4).says("a decision is final");
}

#[test]
fn a_no_is_final_and_tells_why() {
    let office = office("");
    let run = waiting(&office);
    let no = ["deny", &run, "--reason", "not today", "--yes"];
    office.by("bob", &no).exits(0);
    goes_on(&office, &run).exits(1).says("denied by bob: not today");
    assert_eq!(shipped(&office), 0);
}

#[test]
fn who_began_it_does_not_count_nor_who_is_not_asked_nor_a_stranger() {
    let office = office("approvers: [eve, bob]");
    let run = waiting(&office);
    let yes = ["approve", &run, "--yes"];
    office.by("eve", &yes).exits(4).says("the run was started by eve's key");
    office.by("ada", &yes).exits(4).says("is an approver, but not one requested here");
    office.by("mallory", &["key", "init", "mallory"]).exits(0);
    office.by("mallory", &yes).exits(4).says("is not listed in approvers.yaml");
    goes_on(&office, &run).exits(5);
    office.by("bob", &yes).exits(0);
    goes_on(&office, &run).exits(0);
}

#[test]
fn as_many_as_must_agree_do_each_once() {
    let office = office("required: 2");
    let run = waiting(&office);
    let yes = ["approve", &run, "--yes"];
    let no = ["deny", &run, "--yes"];
    office.by("bob", &yes).exits(0).says("1 of 2 approvals given");
    office.by("bob", &yes).exits(0).says("1 of 2 approvals given");
    office.by("bob", &no).exits(4).says("already answered: approved");
    goes_on(&office, &run).exits(5);
    office.by("ada", &yes).exits(0).says("is approved");
    office.by("eve", &no).exits(4).says("already answered: approved");
    goes_on(&office, &run).exits(0);
}

#[test]
fn who_must_agree_must_give_the_same_answer() {
    let office = office("required: 2, answer: {choose: [eu, us]}");
    let run = waiting(&office);
    let by = |name: &str, word: &str| office.by(name, &["approve", &run, "--yes", "--choose", word]);
    by("bob", "eu").exits(0).says("1 of 2 approvals given: choice `eu`");
    by("ada", "us").exits(4).says("bob gave another answer: choice `eu`");
    by("bob", "us").exits(4).says("bob gave another answer: choice `eu`");
    goes_on(&office, &run).exits(5);
    by("bob", "eu").exits(0).says("1 of 2 approvals given");
    by("ada", "eu").exits(0).says("is approved: choice `eu`");
    goes_on(&office, &run).exits(0).says("choice `eu`");
    assert_eq!(shipped(&office), 1);
}

#[test]
fn who_disagrees_with_an_answer_denies() {
    let office = office("required: 2, answer: {choose: [eu, us]}");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes", "--choose", "eu"]).exits(0);
    office.by("ada", &["deny", &run, "--yes", "--reason", "not there"]).exits(0);
    goes_on(&office, &run).exits(1).says("denied by ada: not there");
    assert_eq!(shipped(&office), 0);
}

#[test]
fn one_no_is_enough_while_the_question_is_open() {
    let office = office("required: 2");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    office.by("eve", &["deny", &run, "--yes"]).exits(0).says("is denied");
    office.by("ada", &["approve", &run, "--yes"]).exits(4).says("already answered: denied");
    goes_on(&office, &run).exits(1).says("denied by eve");
}

#[test]
fn an_answer_is_to_one_question_of_one_run() {
    let office = office("");
    let first = waiting(&office);
    office.by("bob", &["approve", &first, "--yes"]).exits(0);
    let second = waiting(&office);
    let database = office.place.database();
    let copied =
        "INSERT INTO approval_responses SELECT ?1, number, key, verdict, token, at FROM approval_responses";
    database.execute(copied, [&second]).unwrap();
    goes_on(&office, &second).exits(5);
    // A row that nobody signed, or in which a byte is another, says nothing.
    let edited = "UPDATE approval_responses SET token = replace(token, 'eyJ', 'eyK') WHERE run = ?1";
    database.execute(edited, [&first]).unwrap();
    goes_on(&office, &first).exits(5);
    assert_eq!(shipped(&office), 0);
}

#[test]
fn a_key_that_is_revoked_before_its_answer_is_heard_does_not_count() {
    let office = office("");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    office.by("bob", &["key", "revoke", "bob"]).exits(0);
    goes_on(&office, &run).exits(5);
    assert_eq!(shipped(&office), 0);
}

#[test]
fn what_changed_after_the_yes_is_asked_anew() {
    let office = office("");
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    office.place.file("out.txt", "other\n");
    goes_on(&office, &run).exits(5).says("out.txt changed after it was checked");
    assert_eq!(shipped(&office), 0);
    office.by("bob", &["approve", &run, "--yes"]).exits(4).says("out.txt");
    office.place.file("out.txt", "made\n");
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    goes_on(&office, &run).exits(0);
    assert_eq!(shipped(&office), 1);
}

#[test]
fn nobody_answers_in_time_and_others_are_asked_once() {
    let office = office("timeout: 1h, approvers: [bob], escalate_to: [ada]");
    office.at("2026-11-21T08:00:00Z", "ada", &["approve", "plan.md", "--yes", "--out", "a.json"]);
    let begin = ["run", "plan.md", "--approval", "a.json"];
    office.at("2026-11-21T09:00:00Z", "eve", &begin).exits(5);
    let run = last(&office.place);
    office.at("2026-11-21T10:30:00Z", "eve", &["resume", &run]).exits(5).says("expired");
    let yes = ["approve", &run, "--yes"];
    office.at("2026-11-21T10:31:00Z", "bob", &yes).exits(4).says("but not one requested here");
    office.at("2026-11-21T12:00:00Z", "eve", &["resume", &run]).exits(1).says("no answer within 1h");
    assert_eq!(shipped(&office), 0);
}

#[test]
fn who_stays_hears_the_answer() {
    let office = office("");
    let mut staying = office.command("eve", &["run", "plan.md", "--wait"]).spawn().unwrap();
    until("somebody is asked", || {
        office.place.at(".wf/state.db").exists()
            && Did::of(&mut office.command("bob", &["show", "--last"])).out.contains("Ship it?")
    });
    let run = last(&office.place);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    assert!(staying.wait().unwrap().success());
    assert_eq!(shipped(&office), 1);
}

#[test]
fn who_is_enrolled_or_revoked_while_a_run_waits_counts_as_for_anybody_else() {
    let office = Office::new(1, &["ada", "eve", "kim"], &["ada", "eve"]);
    office.place.file("plan.md", PLAN.replace("NEEDS", "required: 2"));
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    let mut staying = office.command("eve", &["run", "plan.md", "--wait"]).spawn().unwrap();
    until("somebody is asked", || {
        office.place.at(".wf/state.db").exists()
            && Did::of(&mut office.command("ada", &["show", "--last"])).out.contains("Ship it?")
    });
    let run = last(&office.place);
    let key = office.by("kim", &["key", "export", "--hex"]).exits(0).out;
    office.by("kim", &["approve", &run, "--yes"]).exits(4);
    office.by("ada", &["key", "enrol", "kim", key.trim(), "--yes"]).exits(0);
    office.by("kim", &["approve", &run, "--yes"]).exits(0).says("1 of 2 approvals given");
    // While its file is torn, those of before count.
    let listed = office.place.read("approvers.yaml");
    office.place.file("approvers.yaml", "approvers: [");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(staying.try_wait().unwrap().is_none());
    office.place.file("approvers.yaml", listed);
    office.by("ada", &["approve", &run, "--yes"]).exits(0);
    assert!(staying.wait().unwrap().success());
    assert_eq!(shipped(&office), 1);
}

#[test]
fn an_engine_that_is_killed_while_it_waits_is_no_answer() {
    let office = office("");
    let mut staying = office.command("eve", &["run", "plan.md", "--wait"]).spawn().unwrap();
    until("somebody is asked", || {
        office.place.at(".wf/state.db").exists()
            && Did::of(&mut office.command("bob", &["show", "--last"])).out.contains("Ship it?")
    });
    staying.kill().unwrap();
    staying.wait().unwrap();
    let run = last(&office.place);
    goes_on(&office, &run).exits(5);
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    goes_on(&office, &run).exits(0);
    assert_eq!(shipped(&office), 1);
}

#[test]
fn a_plan_that_is_used_may_ask_too() {
    let office = office("");
    office.place.file(
        "outer.md",
        "---\nkind: plan\nid: outer\nsteps:\n  - {id: inner, uses: plan.md}\n\
         \x20 - {id: after, depends_on: [inner], run: echo after >> shipped.txt, writes: [shipped.txt]}\n---\n",
    );
    office.by("ada", &["approve", "outer.md", "--yes"]).exits(0);
    office.by("eve", &["run", "outer.md"]).exits(5).says("inner/ok");
    let run = last(&office.place);
    office.by("eve", &["runs"]).says("waiting");
    office.by("bob", &["approve", &run, "--yes"]).exits(0);
    goes_on(&office, &run).exits(0);
    assert_eq!(shipped(&office), 2);
}

#[test]
fn a_yes_in_time_counts_however_late_it_is_heard_and_a_late_one_does_not() {
    let office = office("timeout: 1h");
    let now = |hour: u32, minute: u32| format!("2027-01-10T{hour:02}:{minute:02}:00Z");
    let begin = ["approve", "plan.md", "--executions", "9", "--yes", "--out", "a.json"];
    office.at(&now(8, 0), "ada", &begin).exits(0);
    let run = ["run", "plan.md", "--approval", "a.json"];
    office.at(&now(9, 0), "eve", &run).exits(5);
    let first = last(&office.place);
    office.at(&now(9, 30), "bob", &["approve", &first, "--yes"]).exits(0);
    office.at(&now(12, 0), "eve", &["resume", &first]).exits(0);
    office.at(&now(13, 0), "eve", &run).exits(5);
    let second = last(&office.place);
    let late = office.at(&now(14, 1), "bob", &["approve", &second, "--yes"]);
    late.exits(4).says("the deadline to answer was");
    office.at(&now(14, 2), "eve", &["resume", &second]).exits(1);
    assert_eq!(shipped(&office), 1);
}

#[test]
fn each_gate_gets_the_people_that_it_demands() {
    let all = ["ada", "bob", "eve"];
    let office = Office::new(1, &all, &all);
    let gate = |id: &str, who: &str| {
        format!(
            "{{id: {id}, on: before_step, provider: predicate, check: approval_always, \
             approval: {{approvers: [{who}]}}}}"
        )
    };
    let (one, other) = (gate("one", "ada"), gate("other", "bob"));
    office.place.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: p\nsteps: [{{id: a, run: echo shipped >> shipped.txt, \
             gates: [{one}, {other}]}}]\n---\n"
        ),
    );
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    let run = waiting(&office);
    let yes = ["approve", &run, "--yes"];
    office.by("bob", &yes).exits(4).says("but not one requested here");
    office.by("ada", &yes).exits(0);
    goes_on(&office, &run).exits(5);
    office.by("ada", &yes).exits(4).says("but not one requested here");
    assert_eq!(shipped(&office), 0);
    office.by("bob", &yes).exits(0);
    goes_on(&office, &run).exits(0);
    assert_eq!(shipped(&office), 1);
}

#[test]
fn a_plan_may_ask_for_more_people_than_the_policy_and_never_for_fewer() {
    let all = ["ada", "bob", "eve"];
    let office = Office::new(2, &all, &all);
    let plan = PLAN.replace("NEEDS", "required: 1");
    office.place.file("plan.md", plan);
    for who in ["ada", "bob"] {
        office.by(who, &["approve", "plan.md", "--yes"]).exits(0);
    }
    let run = waiting(&office);
    office.by("bob", &["approve", &run, "--yes"]).exits(0).says("1 of 2");
    goes_on(&office, &run).exits(5);
    office.by("ada", &["approve", &run, "--yes"]).exits(0);
    goes_on(&office, &run).exits(0);
    let plan = PLAN.replace("NEEDS", "approvers: [bob]");
    office.place.file("plan.md", plan);
    office.by("ada", &["check", "plan.md"]).exits(3).says("this workspace requires 2 approvals");
}

#[test]
fn answers_read_by_one_resume_count_in_the_order_of_their_requests() {
    let place = Sandbox::new();
    let steps = ["one", "two", "three"];
    let list = steps.map(|step| format!("  - {{id: {step}, approve: {{message: 'Is {step} fine?'}}}}\n"));
    place.file("plan.md", format!("---\nkind: plan\nid: three\nsteps:\n{}---\n", list.concat()));
    for _ in 0..3 {
        place.wf(&["run", "plan.md", "-q"]).exits(5);
        for step in steps.iter().rev() {
            place.wf(&["approve", "--last", step, "--yes"]).exits(0);
        }
        place.wf(&["resume", "--last", "-q"]).exits(0);
        let sql = "SELECT group_concat(body ->> '$.step', ' ' ORDER BY run_seq) FROM events \
                   WHERE run = (SELECT max(key) FROM runs) AND body ->> '$.event' = 'approval_resolved'";
        let order: String = place.database().query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(order, steps.join(" "));
    }
}
