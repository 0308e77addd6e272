//! A verification starts where the last one ended, and believes nobody who cannot sign.

use crate::{
    audit::{lines, lived, put, run, verify},
    support::Sandbox,
};

const KEPT: &str = ".wf/audit/verified.dsse.json";

/// What a verification from a checkpoint on says.
const SINCE: &str = "since the verification of";

/// A workspace with a run that was verified, and one that was not.
fn verified() -> Sandbox {
    let sandbox = lived(1);
    let said = verify(&sandbox).exits(0);
    assert!(!said.all().contains(SINCE), "{}", said.all());
    run(&sandbox, 1);
    sandbox
}

fn sql(sandbox: &Sandbox, text: &str) {
    sandbox.database().execute_batch(text).unwrap();
}

#[test]
fn the_next_verification_is_of_what_was_added() {
    let sandbox = verified();
    verify(&sandbox).exits(0).says(SINCE).says("from event 13 and record 17 on");
    sandbox.wf(&["audit", "verify", "--json"]).exits(0).says("\"since\": {");
    sandbox.wf(&["doctor"]).says("verified since");
    let full = sandbox.wf(&["audit", "verify", "--full"]).exits(0);
    assert!(!full.all().contains(SINCE), "{}", full.all());
    let full = sandbox.wf(&["doctor", "--full"]);
    assert!(!full.all().contains("verified since"), "{}", full.all());
}

#[test]
fn the_doctor_keeps_what_it_has_verified() {
    let sandbox = lived(1);
    sandbox.wf(&["doctor"]).says("12 events, hash chain OK · ");
    run(&sandbox, 1);
    sandbox.wf(&["doctor"]).says("24 events, hash chain OK · verified since").says("from event 13 on");
    // The audit log was not verified yet.
    verify(&sandbox).exits(0).says("from event 25 and record 1 on");
    verify(&sandbox).exits(0).says("from event 25 and record 32 on");
}

#[test]
fn what_is_changed_behind_the_checkpoint_is_found() {
    for change in [
        "UPDATE events SET body = replace(body, 'plan', 'flan') WHERE seq = 14",
        "DELETE FROM events WHERE seq = 20",
        "DELETE FROM events WHERE seq > 20",
        "UPDATE steps SET state = 'failed' WHERE run = 13 AND step = 'a'",
        "DELETE FROM attempts WHERE run = 13",
        "INSERT INTO runs SELECT 40, 'x' || substr(id, 2), plan, title, path, created, ended, outcome, standing,
             counts, reason, parent, parent_attempt, pending_approvals FROM runs WHERE key = 13",
        "UPDATE source_texts SET text = text || ' '",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 12",
    ] {
        let sandbox = verified();
        let done = sandbox.database().execute_batch(change);
        if change.starts_with("INSERT") && done.is_err() {
            continue;
        }
        done.unwrap();
        let said = verify(&sandbox);
        assert_eq!(said.code, Some(1), "{change}: {}", said.all());
        sandbox.wf(&["doctor"]).exits(6);
    }
    let sandbox = verified();
    let mut all = lines(&sandbox);
    let last = all.len() - 3;
    all[last] = all[last].replace("\"v\":1", "\"v\":1 ");
    put(&sandbox, &all);
    verify(&sandbox).exits(1).says("was modified");
}

#[test]
fn what_was_verified_before_is_verified_again_on_request() {
    let sandbox = verified();
    sql(&sandbox, "UPDATE events SET body = replace(body, 'plan', 'flan') WHERE seq = 2");
    verify(&sandbox).exits(0).says(SINCE);
    sandbox.wf(&["doctor"]).says("verified since");
    sandbox.wf(&["audit", "verify", "--full"]).exits(1).says("event 2 was modified");
    sandbox.wf(&["doctor", "--full"]).exits(6).says("event 2 was modified");
    sandbox.wf(&["audit", "checkpoint"]).exits(1).says("event 2 was modified");
}

#[test]
fn a_checkpoint_that_the_user_did_not_sign_or_that_does_not_fit_counts_for_nothing() {
    let sandbox = verified();
    let kept = sandbox.read(KEPT);
    let whole = |text: &str| {
        sandbox.file(KEPT, text);
        let said = verify(&sandbox).exits(0);
        assert!(!said.all().contains(SINCE), "{text}: {}", said.all());
    };
    whole("{}");
    whole(&kept.replace("\"payload\":\"", "\"payload\":\"e"));
    // One of another key, about this history.
    sandbox.wf(&["key", "init", "other", "-q"]).exits(0);
    sandbox.wf(&["audit", "checkpoint", "--key", "other", "--out", "other.json"]).exits(0);
    whole(&sandbox.read("other.json"));
    // One of this key, about another history.
    let other = lived(1);
    sandbox.file("plan.md", other.read("plan.md").replace("echo b", "echo c"));
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    run(&sandbox, 2);
    whole(&kept);
    // An older one of this history takes longer.
    let older = sandbox.read(KEPT);
    run(&sandbox, 1);
    verify(&sandbox).exits(0).says(SINCE);
    sandbox.file(KEPT, older);
    verify(&sandbox).exits(0).says("from event 25 and record 32 on");
}

#[test]
fn without_a_key_that_signs_by_itself_everything_is_verified() {
    let sandbox = verified();
    std::fs::remove_dir_all(sandbox.at(".config")).unwrap();
    for _ in 0..2 {
        let said = verify(&sandbox).exits(0);
        assert!(!said.all().contains(SINCE), "{}", said.all());
    }
}
