//! Approvals of plans, and what is tried to get round them, through the real program.

use std::process::Stdio;

use crate::support::{Office, Sandbox, until};

const PLAN: &str = "---\nkind: plan\nid: release\nparams: {version: {type: string, default: '1'}}\n\
                    steps:\n  - {id: build, run: sh build.sh \"$WF_PARAM_VERSION\"}\n---\n";

#[test]
fn approvers_that_are_changed_at_once_are_all_changed() {
    let sandbox = Sandbox::new();
    let key = |number: u8| wf_sign::Signer::from_bytes(&[number; 32]).public().hex();
    sandbox.wf(&["key", "enrol", "first", &key(1), "--yes"]).exits(0);
    let mut enrolments: Vec<_> = (2..8)
        .map(|number| sandbox.start(&["key", "enrol", &format!("name{number}"), &key(number), "--yes"]))
        .collect();
    let mut revocation = sandbox.start(&["key", "revoke", "first"]);
    assert!(enrolments.iter_mut().all(|enrolment| enrolment.wait().unwrap().success()));
    assert!(revocation.wait().unwrap().success());
    let approvers = sandbox.read("approvers.yaml");
    assert!((2..8).all(|number| approvers.contains(&key(number))), "{approvers}");
    assert!(approvers.contains("revoked:"), "{approvers}");
    sandbox.wf(&["key", "enrol", "again", &key(1), "--yes"]).exits(2).says("was revoked");
}

/// A workspace with two approvers, ada and bob, and carl, who runs plans.
pub fn office(required: u32) -> Office {
    let office = Office::new(required, &["ada", "bob", "carl"], &["ada", "bob"]);
    let place = &office.place;
    place.file("plan.md", PLAN).file("build.sh", "echo built\n");
    office
}

pub fn approved(office: Office) -> Office {
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    office
}

/// Asserts that the plan does not run, why, and that nothing of it is recorded.
#[track_caller]
fn refused(office: &Office, reason: &str) {
    let tried_escalations = office.place.at(".wf").exists();
    let did = office.by("carl", &["run", "plan.md"]).exits(4);
    did.says(reason).says("hint: ");
    let has = office.place.at(".wf").exists();
    assert_eq!(has, tried_escalations, "something was recorded");
}

#[test]
fn what_was_approved_runs_and_the_record_says_who_approved() {
    let office = approved(office(1));
    let ran = office.by("carl", &["run", "plan.md", "--json"]).exits(0);
    let approved = ran.out.lines().find(|line| line.contains("run_approved"));
    assert!(approved.unwrap().contains("\"name\":\"ada\""), "{approved:?}");
}

#[test]
fn nothing_runs_without_an_approval() {
    refused(&office(1), "plan.approval.json not found");
}

#[test]
fn an_approval_is_used_once() {
    let office = approved(office(1));
    office.by("carl", &["run", "plan.md"]).exits(0);
    refused(&office, "the approval is used up: 1 of 1 uses");
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0).says("approved plan.md by ada");
    office.by("carl", &["run", "plan.md"]).exits(0);
}

#[test]
fn a_changed_file_does_not_run() {
    for (path, text) in [
        ("plan.md", PLAN.replace("build", "bild")),
        ("build.sh", "echo other\n".into()),
        ("wf.yaml", "sandbox: off\n".into()),
    ] {
        let office = approved(office(1));
        office.place.file(path, text);
        refused(&office, &format!("{path} changed"));
    }
}

#[test]
fn what_changed_is_shown_where_it_is_known() {
    let office = approved(office(1));
    office.by("carl", &["run", "plan.md"]).exits(0);
    office.place.file("plan.md", PLAN.replace("sh build.sh", "sh build.sh -x"));
    let told = office.by("carl", &["run", "plan.md"]).exits(4).err;
    assert!(told.contains("+   - {id: build, run: sh build.sh -x \"$WF_PARAM_VERSION\"}"), "{told}");
    let view = office.by("ada", &["approve", "plan.md", "--yes"]).exits(0).out;
    assert!(view.contains("since the approval of"), "{view}");
    assert!(view.contains("steps.build.run"), "{view}");
}

#[test]
fn a_script_that_is_swapped_for_a_link_does_not_run() {
    let office = approved(office(1));
    office.place.file("evil.sh", "echo evil\n");
    std::fs::remove_file(office.place.at("build.sh")).unwrap();
    std::os::unix::fs::symlink("evil.sh", office.place.at("build.sh")).unwrap();
    refused(&office, "build.sh changed, evil.sh added");
}

#[test]
fn an_approval_of_another_plan_is_none() {
    let office = approved(office(1));
    office.place.file("other.md", PLAN.replace("release", "other"));
    let token = office.place.read("plan.approval.json");
    office.place.file("other.approval.json", token);
    office
        .by("carl", &["run", "other.md"])
        .exits(4)
        .says("the approval is for plan `release` in plan.md, not `other` in other.md");
}

#[test]
fn parameters_are_those_that_were_approved() {
    let office = approved(office(1));
    office
        .by("carl", &["run", "plan.md", "-p", "version=2"])
        .exits(4)
        .says("parameter `version` is \"2\": \"1\" was approved");
    let within = "version={\"enum\": [\"2\", \"3\"]}";
    office.by("ada", &["approve", "plan.md", "--within", within, "--yes"]).exits(0);
    office.by("carl", &["run", "plan.md", "-p", "version=3"]).exits(0);
    office.by("ada", &["approve", "plan.md", "--any", "version", "--yes"]).exits(0);
    office.by("carl", &["run", "plan.md", "-p", "version=9"]).exits(0);
}

#[test]
fn who_approved_does_not_run_it() {
    let office = approved(office(1));
    office.by("ada", &["run", "plan.md"]).exits(4).says(
        "self-approval is not allowed: the run was started by ada's key; another approver \
            must sign",
    );
}

#[test]
fn as_many_must_sign_as_the_policy_says() {
    let office = approved(office(2));
    refused(&office, "1 of 2 approvers signed");
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0).says("already approved with this key");
    office.by("bob", &["approve", "plan.md", "--yes"]).exits(0).says("approved plan.md by ada, bob");
    office.by("carl", &["run", "plan.md"]).exits(0);
}

#[test]
fn a_second_signature_is_of_the_same_or_of_something_new() {
    let office = approved(office(2));
    office.place.file("build.sh", "echo other\n");
    office
        .by("bob", &["approve", "plan.md", "--yes"])
        .exits(0)
        .says("approved plan.md by bob")
        .says("1 more approver must sign");
    refused(&office, "1 of 2 approvers signed");
}

#[test]
fn a_second_approver_who_asks_for_no_other_terms_adds_to_those_of_the_first() {
    let office = office(2);
    office.by("ada", &["approve", "plan.md", "--executions", "3", "--expires", "2d", "--yes"]).exits(0);
    office.by("bob", &["approve", "plan.md", "--yes"]).exits(0).says("approved plan.md by ada, bob");
    for _ in 0..3 {
        office.by("carl", &["run", "plan.md"]).exits(0);
    }
    refused(&office, "the approval is used up: 3 of 3 uses");
    // Nobody is left to join: this one is for one run again.
    office.by("bob", &["approve", "plan.md", "--yes"]).exits(0).says("for 1 run");
    // Other terms are another approval, and it says so.
    let other = office.by("ada", &["approve", "plan.md", "--executions", "2", "--yes"]).exits(0);
    other.says("by ada until").says("! it replaces the approval for 1 run until").says("bob must sign again");
}

#[test]
fn after_a_change_that_goals_share_its_difference_is_shown_once_and_all_are_accepted() {
    let sandbox = Sandbox::new();
    sandbox.file("check.sh", "#!/bin/sh\ntrue\n");
    for id in ["one", "two", "three"] {
        let verify = "verify: [{name: fine, run: ./check.sh}]";
        let head = format!("kind: goal\nid: {id}\nschedule: \"0 6 * * *\"\ntimezone: UTC\n");
        sandbox.file(&format!("goals/{id}.md"), format!("---\n{head}{verify}\n---\n"));
    }
    let accept = || sandbox.wf(&["goal", "accept", "--all", "--yes"]).exits(0);
    accept().says("accepted one").says("accepted two").says("accepted three");
    sandbox.file("check.sh", "#!/bin/sh\necho looked\n");
    sandbox.file("goals/two.md", sandbox.read("goals/two.md").replace("6 * * *", "7 * * *"));
    let again = accept().says("accepted one").says("accepted two").says("0 7 * * *");
    let shown = again.out.lines().filter(|line| line.contains("different: check.sh"));
    assert_eq!(shown.count(), 1, "{}", again.out);
    accept().says("no goal waits for acceptance");
}

#[test]
fn who_is_not_listed_cannot_approve() {
    let office = approved(office(1));
    office
        .by("carl", &["approve", "plan.md", "--yes"])
        .exits(4)
        .says("the key `carl` is not allowed to approve");
    // Nor by a list of his own, for a moment.
    let listed = office.place.read("approvers.yaml");
    let key = office.by("carl", &["key", "export", "--hex"]).out;
    let own = format!("policy: reviewed\napprovers: [{{name: carl, key: {}}}]\n", key.trim());
    office.place.file("approvers.yaml", own);
    office.by("carl", &["approve", "plan.md", "--yes"]).exits(0);
    office.place.file("approvers.yaml", listed);
    refused(&office, "is not listed in approvers.yaml");
}

#[test]
fn a_revoked_key_approves_nothing_that_it_signed() {
    let office = approved(office(1));
    office.by("carl", &["key", "revoke", "ada"]).exits(0).says("revoked in approvers.yaml");
    refused(&office, "signed with ada's key, which was revoked on");
    office
        .by("ada", &["approve", "plan.md", "--yes"])
        .exits(4)
        .says("the key `ada` is not allowed to approve");
}

#[test]
fn an_approval_holds_from_when_until_when() {
    let office = office(1);
    let approve = ["approve", "plan.md", "--yes", "--expires", "2h"];
    office.at("2026-11-21T09:30:00Z", "ada", &approve).exits(0);
    for (now, reason) in [
        ("2026-11-21T11:30:00Z", "the approval expired on 2026-11-21T11:30:00.000Z"),
        ("2026-11-21T09:28:00Z", "the approval is not valid before 2026-11-21T09:30:00.000Z"),
    ] {
        office.at(now, "carl", &["run", "plan.md"]).exits(4).says(reason);
    }
    office.at("2026-11-21T11:29:59Z", "carl", &["run", "plan.md"]).exits(0);
    office
        .by("ada", &["approve", "plan.md", "--yes", "--expires", "8d"])
        .exits(4)
        .says("the approval is valid for 8d, but at most 7d is allowed");
}

#[test]
fn an_approval_that_was_edited_is_none() {
    let office = approved(office(1));
    let token = office.place.read("plan.approval.json");
    let swap = |from: &str, to: &str| {
        assert!(token.contains(from), "{from}");
        token.replacen(from, to, 1)
    };
    for (text, reason) in [
        (String::new(), "not an approval"),
        (swap("\"payload\":\"eyJ", "\"payload\":\"fyJ"), "not an approval"),
        (swap("approval+json", "approval+yaml"), "a signed document of type"),
        (swap("{\"payload\"", "{ \"payload\""), "not canonical JSON"),
        (swap("\"keyid\":\"", "\"keyid\":\"0"), "is not listed in approvers.yaml"),
        (swap("\"sig\":\"", "\"sig\":\"AAAA"), "invalid signature by ada"),
    ] {
        office.place.file("plan.approval.json", text);
        refused(&office, reason);
    }
}

#[test]
fn a_retry_needs_an_approval_too() {
    let office = office(1);
    office.place.file("build.sh", "exit 1\n");
    let office = approved(office);
    office.by("carl", &["run", "plan.md"]).exits(1);
    office.by("carl", &["retry", "--last"]).exits(4).says("used up");
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    office.by("carl", &["retry", "--last"]).exits(1);
}

#[test]
fn a_run_goes_on_only_if_its_approval_still_is_one() {
    for (change, reason) in [
        (("approvers.yaml", "revoked"), "which was revoked on"),
        (("build.sh", "echo evil\n"), "build.sh changed"),
    ] {
        let office = office(1);
        office.place.file("plan.md", PLAN.replace("run: sh", "idempotent: true, run: sh"));
        office.place.file("build.sh", "[ -e go ] || { touch here; sleep 100; }\n");
        let office = approved(office);
        let mut run = office.command("carl", &["run", "plan.md"]);
        let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the step runs", || office.place.at("here").exists());
        run.kill().unwrap();
        run.wait().unwrap();
        if change.1 == "revoked" {
            office.by("carl", &["key", "revoke", "ada"]).exits(0);
        } else {
            office.place.file(change.0, change.1);
        }
        office.by("carl", &["resume", "--last"]).exits(4).says(reason);
        office.by("carl", &["cancel", "--last"]).exits(0);
    }
}

#[test]
fn two_runs_at_once_use_an_approval_once() {
    let office = approved(office(1));
    let start = || office.command("carl", &["run", "plan.md"]).spawn().unwrap();
    let runs: Vec<_> = (0..4).map(|_| start()).collect();
    let codes = runs.into_iter().map(|run| run.wait_with_output().unwrap().status.code());
    let mut codes: Vec<_> = codes.collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(4), Some(4), Some(4)]);
}

#[test]
fn of_eight_runs_at_once_an_approval_for_three_starts_three_and_the_others_say_why() {
    let office = office(1);
    office.by("ada", &["approve", "plan.md", "--executions", "3", "--yes"]).exits(0);
    let start = || {
        let mut command = office.command("carl", &["run", "plan.md"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let runs: Vec<_> = (0..8).map(|_| start()).collect();
    let ends: Vec<_> = runs.into_iter().map(|run| run.wait_with_output().unwrap()).collect();
    let (ran, refused): (Vec<_>, Vec<_>) = ends.iter().partition(|end| end.status.code() == Some(0));
    assert_eq!((ran.len(), refused.len()), (3, 5), "{ends:?}");
    for end in refused {
        let said = String::from_utf8_lossy(&end.stderr);
        assert!(
            said.contains("the approval is used up: 3 of 3 uses") && said.contains("wf approve"),
            "{said}"
        );
    }
}

#[test]
fn runs_that_begin_at_once_make_one_first_key() {
    let plan = "---\nkind: plan\nid: p\nsteps: [{id: a, run: 'true'}]\n---\n";
    for _ in 0..3 {
        let sandbox = Sandbox::new();
        sandbox.file("plan.md", plan);
        let runs: Vec<_> = (0..6).map(|_| sandbox.start(&["run", "plan.md"])).collect();
        for run in runs {
            let output = run.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{told}");
        }
        sandbox.wf(&["run", "plan.md"]).exits(0);
    }
}

#[test]
fn an_answer_that_names_the_nested_run_counts() {
    let sandbox = Sandbox::new();
    let plan =
        |id: &str, step: &str| format!("---\nkind: plan\nid: {id}\nsteps:\n  - {step}\n---\n# A plan\n");
    sandbox.file("asks.md", plan("asks", "{id: ok, approve: {message: 'Go on?', timeout: 10m}}"));
    sandbox.file("around.md", plan("around", "{id: inner, uses: asks.md}"));
    sandbox.accept();
    sandbox.wf(&["run", "around.md"]).exits(5);
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).exits(0).out).unwrap();
    let nested = shown.pointer("/nested/0/record/run/id").and_then(|id| id.as_str()).unwrap().to_owned();
    sandbox.wf(&["approve", &nested, "--yes"]).exits(0).says("is approved");
    sandbox.wf(&["resume", shown["run"]["id"].as_str().unwrap()]).exits(0);
}
