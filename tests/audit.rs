//! The history is tampered with, and that is found out.

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use crate::support::{Did, Sandbox};

pub const LOG: &str = ".wf/audit/log.jsonl";

/// A workspace with some runs.
pub fn lived(runs: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        "---\nkind: plan\nid: plan\npolicy: {max_parallel: 1}\nsteps:\n\
         \x20 - {id: a, run: echo a, verify: [{name: fine, run: \"true\"}]}\n\
         \x20 - {id: b, run: echo b, depends_on: [a]}\n---\n",
    );
    run(&sandbox, runs);
    sandbox
}

pub fn run(sandbox: &Sandbox, times: usize) {
    for _ in 0..times {
        sandbox.wf(&["run", "plan.md", "-q"]).exits(0);
    }
}

pub fn verify(sandbox: &Sandbox) -> Did {
    sandbox.wf(&["audit", "verify"])
}

pub fn lines(sandbox: &Sandbox) -> Vec<String> {
    sandbox.read(LOG).lines().map(str::to_owned).collect()
}

pub fn put(sandbox: &Sandbox, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    sandbox.file(LOG, text);
}

fn sql(sandbox: &Sandbox, text: &str) {
    sandbox.database().execute_batch(text).unwrap();
}

/// Copies what is in a folder, and in the folders in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn what_was_written_holds() {
    let sandbox = lived(2);
    verify(&sandbox).exits(0).says("are consistent");
    sandbox.wf(&["run", "nothing.md"]).exits(2);
    verify(&sandbox).exits(0);
    sandbox.wf(&["audit", "tail", "-n", "1"]).exits(0).says("run_refused path=nothing.md");
}

#[test]
fn every_change_of_the_database_is_found_and_named() {
    for (change, said) in [
        (
            "UPDATE events SET body = replace(body, 'true', 'True') || ' ' WHERE seq = 5",
            "event 5 was modified in the database",
        ),
        (
            "DELETE FROM events WHERE seq = 5",
            "event 6 does not follow the previous event",
        ),
        (
            "UPDATE events SET seq = -5 WHERE seq = 5; UPDATE events SET seq = 5 WHERE seq = 6;
             UPDATE events SET seq = 6 WHERE seq = -5",
            "does not follow the previous event",
        ),
        (
            "INSERT INTO events (seq, run, run_seq, body_version, body, prev, hash)
             SELECT seq + 1000, run, run_seq + 1000, body_version, body, prev, hash FROM events WHERE seq = 5",
            "was modified in the database",
        ),
        (
            "DELETE FROM events WHERE seq > (SELECT max(seq) - 2 FROM events)",
            "replaced by an older copy",
        ),
    ] {
        let sandbox = lived(2);
        sql(&sandbox, change);
        verify(&sandbox).exits(1).says(said);
    }
}

pub fn events(sandbox: &Sandbox) -> i64 {
    let count = "SELECT count(*) FROM events";
    let database = sandbox.database();
    database.query_row(count, [], |row| row.get(0)).unwrap()
}

/// Writes the hashes of the database's log anew, as somebody could who knows how they are made.
fn rehash(sandbox: &Sandbox) {
    use wf_base::digest::Sha256Digest;
    let database = sandbox.database();
    let mut prev = [0; 32];
    let rows: Vec<(i64, i64, i64, u32, String)> = database
        .prepare("SELECT seq, run, run_seq, body_version, body FROM events ORDER BY seq")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (seq, run, n, v, body) in rows {
        let mut bytes = prev.to_vec();
        bytes.extend(run.to_be_bytes());
        bytes.extend(n.to_be_bytes());
        bytes.extend(v.to_be_bytes());
        bytes.extend(Sha256Digest::of_bytes(body.as_bytes()).bytes());
        let hash = *Sha256Digest::of_bytes(&bytes).bytes();
        let set = "UPDATE events SET prev = ?2, hash = ?3 WHERE seq = ?1";
        database.execute(set, (seq, prev, hash)).unwrap();
        prev = hash;
    }
    std::fs::remove_file(sandbox.at(".wf/state.mark")).unwrap();
}

#[test]
fn a_history_that_was_made_anew_is_not_the_one_that_was_seen() {
    let sandbox = lived(2);
    let end = "SELECT min(seq) FROM events WHERE kind = 'run_ended'";
    let seq: i64 = sandbox.database().query_row(end, [], |row| row.get(0)).unwrap();
    let change = "UPDATE events SET body = replace(body, 'succeeded', 'cancelled') WHERE seq = ";
    sql(&sandbox, &format!("{change}{seq}"));
    rehash(&sandbox);
    let said = format!("event {seq} of the database differs from the one the auditor saw");
    let found = verify(&sandbox).exits(1).says(&said);
    assert!(!found.all().contains("was modified"), "{}", found.all());
}

#[test]
fn events_that_no_engine_wrote_are_found_after_the_next_run() {
    let sandbox = lived(1);
    sql(
        &sandbox,
        "INSERT INTO events (seq, run, run_seq, body_version, body, prev, hash)
         SELECT max(seq) + 1, run, max(run_seq) + 1, body_version, body, prev, hash FROM events",
    );
    rehash(&sandbox);
    let seq = events(&sandbox);
    let said = format!("the database continues to {seq}");
    verify(&sandbox).exits(1).says(&said);
    run(&sandbox, 1);
    let said = format!("event {seq} entered the database unseen by the auditor");
    verify(&sandbox).exits(1).says(&said);
    sandbox.wf(&["audit", "report"]).exits(0).says("in the database unseen by the auditor");
}

#[test]
fn an_older_database_is_found_before_and_after_the_next_run() {
    let sandbox = lived(1);
    let kept = tempfile::tempdir().unwrap();
    let old = kept.path().join("wf");
    copy(&sandbox.at(".wf"), &old);
    run(&sandbox, 1);
    // Everything but the audit log goes back, the mark of the database's end included.
    std::fs::remove_dir_all(old.join("audit")).unwrap();
    for name in ["state.db-wal", "state.db-shm"] {
        let _ = std::fs::remove_file(sandbox.at(".wf").join(name));
    }
    copy(&old, &sandbox.at(".wf"));
    let (has, saw) = (events(&sandbox), 2 * events(&sandbox));
    let said = format!("the database ends at event {has}, but the auditor saw {saw}: it was replaced");
    verify(&sandbox).exits(1).says(&said);
    run(&sandbox, 1);
    let said = format!("the database went back from event {saw} to {has}");
    verify(&sandbox).exits(1).says(&said);
    sandbox.wf(&["audit", "report"]).says("violation");
}

#[test]
fn every_change_of_the_audit_log_is_found_and_named() {
    type Change = fn(&mut Vec<String>);
    let changes: [(Change, &str); 7] = [
        (
            |lines| lines[4] = lines[4].replace("\"n\":5", "\"n\":5,\"x\":1"),
            "line 5 of the audit log was modified",
        ),
        (|lines| lines[4] = "{}".into(), "line 5 of the audit log is not a record"),
        (|lines| drop(lines.drain(4..6)), "records 5 to 6 of the audit log are missing"),
        (
            |lines| lines.insert(7, lines[4].clone()),
            "record 5 of the audit log is duplicated in line 8: inserted",
        ),
        (|lines| lines.swap(4, 5), "record 5 of the audit log is in line 6, after later ones: reordered"),
        (|lines| lines.truncate(lines.len() - 4), "the audit log is truncated"),
        (|lines| lines.clear(), "no audit log"),
    ];
    for (change, said) in changes {
        let sandbox = lived(1);
        let mut lines = lines(&sandbox);
        change(&mut lines);
        put(&sandbox, &lines);
        verify(&sandbox).exits(1).says(said);
        // It is not forgotten when somebody goes on.
        run(&sandbox, 1);
        verify(&sandbox).exits(1);
    }
}

#[test]
fn a_record_made_anew_does_not_fit_what_follows() {
    let sandbox = lived(1);
    let mut lines = lines(&sandbox);
    let record = wf_audit::AuditRecord::parse(&lines[5]).unwrap();
    let mut entry = record.entry.clone();
    entry.about.insert("state".into(), "succeeded".into());
    lines[5] = entry.bind(record.n, record.prev).line();
    put(&sandbox, &lines);
    let said = "record 7 of the audit log (line 7) does not follow the previous one";
    verify(&sandbox).exits(1).says(said);
}

#[test]
fn an_older_audit_log_is_found_even_with_its_mark() {
    let sandbox = lived(1);
    let kept = tempfile::tempdir().unwrap();
    copy(&sandbox.at(".wf/audit"), kept.path());
    run(&sandbox, 1);
    copy(kept.path(), &sandbox.at(".wf/audit"));
    let (has, all) = (events(&sandbox) / 2, events(&sandbox));
    let said =
        format!("the audit log ends at event {has} without a crash, but the database continues to {all}");
    verify(&sandbox).exits(1).says(&said);
    run(&sandbox, 1);
    let said = format!("{has} events ({} to {all}) entered the database unseen by the auditor", has + 1);
    verify(&sandbox).exits(1).says(&said);
}

/// A key pair, and a checkpoint that is signed with it.
pub fn checkpoint(sandbox: &Sandbox) {
    let key = "-----BEGIN PRIVATE KEY-----\n\
               MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
               -----END PRIVATE KEY-----\n";
    sandbox.file("key.pem", key);
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.at("key.pem"), private).unwrap();
    let args = ["audit", "checkpoint", "--key", "key.pem", "--out", "point.json"];
    sandbox.wf(&args).exits(0);
}

/// The public key of that pair.
const PUBLIC: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

pub fn verify_with_checkpoint(sandbox: &Sandbox) -> Did {
    let args = ["audit", "verify", "--checkpoint", "point.json", "--public-key", PUBLIC];
    sandbox.wf(&args)
}

#[test]
fn a_checkpoint_finds_what_was_replaced_as_a_whole() {
    let sandbox = lived(1);
    let kept = tempfile::tempdir().unwrap();
    copy(&sandbox.at(".wf"), kept.path());
    run(&sandbox, 1);
    checkpoint(&sandbox);
    verify_with_checkpoint(&sandbox).exits(0);
    run(&sandbox, 1);
    verify_with_checkpoint(&sandbox).exits(0);
    // Both logs go back together: in themselves they are whole.
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    copy(kept.path(), &sandbox.at(".wf"));
    verify(&sandbox).exits(0);
    verify_with_checkpoint(&sandbox)
        .exits(1)
        .says("the audit log does not contain record")
        .says("the database does not contain event");
    // So does a history that was begun anew.
    std::fs::remove_dir_all(sandbox.at(".wf")).unwrap();
    run(&sandbox, 4);
    verify_with_checkpoint(&sandbox).exits(1).says("the audit log does not contain record");
}

#[test]
fn a_checkpoint_that_was_changed_or_signed_by_another_says_nothing() {
    let sandbox = lived(1);
    checkpoint(&sandbox);
    let other = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    let args = ["audit", "verify", "--checkpoint", "point.json", "--public-key", other];
    sandbox.wf(&args).exits(1).says("the envelope has no signature by this key");
    let args = ["audit", "verify", "--checkpoint", "point.json"];
    sandbox.wf(&args).exits(2).says("the checkpoint is signed, but no public key was given");
    let args = ["audit", "verify", "--checkpoint", "plan.md"];
    sandbox.wf(&args).exits(2).says("is not a checkpoint");
    sandbox.wf(&["audit", "checkpoint", "--out", "plain.json"]).exits(0);
    let args = ["audit", "verify", "--checkpoint", "plain.json"];
    sandbox.wf(&args).exits(0).says("the checkpoint is not signed");
}

/// What goes on meanwhile is no attack: an event is in the database before it is in the audit log.
#[test]
fn a_verification_beside_runs_that_begin_and_end_finds_nothing() {
    let sandbox = lived(1);
    std::thread::scope(|scope| {
        let storms: Vec<_> = (0..3).map(|_| scope.spawn(|| run(&sandbox, 12))).collect();
        let mut count = 0;
        while storms.iter().any(|storm| !storm.is_finished()) {
            verify(&sandbox).exits(0);
            count += 1;
        }
        assert!(count >= 5, "only {count} verifications");
    });
    verify(&sandbox).exits(0);
}
