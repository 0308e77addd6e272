use super::{Copy, clean, files, lived, named, sql, texts};
use crate::support::Sandbox;

/// Takes the bodies of the events of runs away, as pruning does: the hashes still fit.
fn hollow(sandbox: &Sandbox, which: &str) {
    use wf_base::digest::Sha256Digest;
    let database = sandbox.database();
    let select = format!("SELECT seq, body FROM events WHERE body IS NOT NULL AND {which}");
    let mut events = database.prepare(&select).unwrap();
    let rows = events.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    for (seq, body) in rows.map(Result::unwrap).collect::<Vec<_>>() {
        let digest = *Sha256Digest::of_bytes(body.as_bytes()).bytes();
        let set = "UPDATE events SET body = NULL, digest = ?2 WHERE seq = ?1";
        database.execute(set, (seq, digest)).unwrap();
    }
}

#[test]
fn a_body_that_is_gone_without_a_record_is_named() {
    let sandbox = lived();
    let copy = Copy::of(&sandbox);
    let keys = "SELECT DISTINCT CAST(run AS TEXT) FROM events";
    let keys = texts(&sandbox, keys);
    assert_eq!(keys.len(), 2, "a run and one that is nested in it");
    for key in keys {
        for which in [format!("run = {key}"), format!("run = {key} AND run_seq = 2")] {
            hollow(&sandbox, &which);
            named(&sandbox, &which, &["without a body", &format!("run {key} ")]);
            // The chain alone says nothing of it.
            assert!(!sandbox.wf(&["audit", "verify"]).all().contains("was modified in"));
            copy.put_back(&sandbox);
        }
    }
    clean(&sandbox);
}

#[test]
fn what_is_pruned_says_so_and_is_no_tampering() {
    let sandbox = lived();
    sandbox.file("wf.yaml", "retention: {max_runs: 1}\n");
    sandbox.wf(&["run", "plan.md", "-q"]).exits(1);
    let gone = "SELECT CAST(count(*) AS TEXT) FROM events WHERE body IS NULL";
    assert_ne!(texts(&sandbox, gone), ["0"], "the first run was forgotten");
    clean(&sandbox);
    sandbox.wf(&["audit", "tail", "-n", "99"]).exits(0).says("pruned").says("runs=2");
    // The record speaks of those runs, and of no other.
    hollow(&sandbox, "run = (SELECT max(run) FROM events WHERE run_seq > 0)");
    named(&sandbox, "another run", &["without a body"]);
}

#[test]
fn every_text_and_every_kept_file_is_hashed() {
    let sandbox = lived();
    let copy = Copy::of(&sandbox);
    let digests = texts(&sandbox, "SELECT hex(digest) FROM source_texts");
    assert!(digests.len() >= 2, "{digests:?}");
    for digest in &digests {
        let at = format!("WHERE digest = x'{digest}'");
        let attack = format!("UPDATE source_texts SET text = text || ' ' {at}");
        sql(&sandbox, &attack);
        named(&sandbox, &attack, &["text ", "was modified"]);
        copy.put_back(&sandbox);
        let attack = format!("DELETE FROM source_texts {at}");
        sql(&sandbox, &attack);
        named(&sandbox, &attack, &["text ", "is missing"]);
        copy.put_back(&sandbox);
    }
    let kept = files(&sandbox.at(".wf/blobs"));
    assert_eq!(kept.len(), 3, "{kept:?}");
    for file in kept {
        let bytes = std::fs::read(&file).unwrap();
        let shown = file.file_name().unwrap().to_str().unwrap();
        let set = |bytes: &[u8]| {
            let _ = std::fs::remove_file(&file);
            std::fs::write(&file, bytes).unwrap();
        };
        set(b"something else");
        named(&sandbox, "another file", &["stored file", shown, "was modified"]);
        std::fs::remove_file(&file).unwrap();
        named(&sandbox, "no file", &["the stored file", "is missing"]);
        set(&bytes);
    }
    clean(&sandbox);
}

#[test]
fn an_approved_tree_is_stored_once_and_no_run_goes_by_another() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        "---\nkind: plan\nid: p\nsteps:\n  - {id: a, run: echo a >> done.txt, writes: [done.txt]}\n---\n",
    );
    sandbox.wf(&["key", "init", "ada"]).exits(0);
    let approve = ["approve", "plan.md", "--executions", "2", "--yes"];
    sandbox.wf(&approve).exits(0);
    for _ in 0..2 {
        let run = ["run", "--require-approval", "plan.md"];
        sandbox.wf(&run).exits(0);
    }
    let trees = "SELECT text FROM source_texts WHERE text LIKE '[{\"path\"%'";
    let [tree] = &*texts(&sandbox, trees) else {
        panic!("it is stored once");
    };
    assert!(tree.contains("plan.md"), "{tree}");
    let events = texts(&sandbox, "SELECT body FROM events WHERE kind = 'run_approved'");
    assert_eq!(events.len(), 2);
    assert!(events.iter().all(|body| !body.contains("pins")), "{events:?}");
    clean(&sandbox);
    let attack = "UPDATE source_texts SET text = replace(text, 'plan.md', 'other.md') WHERE text LIKE '[%'";
    sql(&sandbox, attack);
    named(&sandbox, attack, &["was modified"]);
    for command in [
        ["verify", "--last", "--json"],
        ["retry", "--last", "--dry-run"],
        ["attest", "--last", "--statement"],
    ] {
        let did = sandbox.wf(&command).exits(6);
        did.says("which a run was approved with, is missing or was modified");
    }
}

#[test]
fn a_run_does_not_go_on_by_a_text_that_was_altered() {
    let sandbox = lived();
    sql(&sandbox, "UPDATE source_texts SET text = replace(text, 'exit 3', 'exit 0')");
    for command in [
        ["attest", "--last", "--statement"],
        ["verify", "--last", "--json"],
        ["retry", "--last", "--dry-run"],
    ] {
        let did = sandbox.wf(&command).exits(6);
        did.says("differs from the log").says("hint: ");
    }
}

#[test]
fn nobody_decides_by_a_run_of_which_an_event_has_no_body() {
    let sandbox = lived();
    hollow(&sandbox, "kind = 'step_ended' AND body LIKE '%flaky%'");
    for command in [
        ["attest", "--last", "--statement"],
        ["verify", "--last", "--json"],
        ["retry", "--last", "--dry-run"],
    ] {
        let did = sandbox.wf(&command).exits(6);
        did.says("has no body").says("hint: ");
    }
}

#[test]
fn a_cached_result_that_was_altered_is_made_again() {
    let sandbox = Sandbox::new();
    let plan = "---
kind: plan
id: cached
steps:
  - id: count
    run: echo rows=3 >> \"$WF_OUTPUT\"
    outputs: {rows: {type: integer}}
    cache: {inputs: []}
outputs: {rows: {value: \"{{ steps.count.outputs.rows }}\"}}
---
";
    sandbox.file("plan.md", plan);
    let rows = || {
        sandbox.wf(&["run", "plan.md", "-q"]).exits(0);
        let outputs = "SELECT outputs FROM runs ORDER BY key DESC LIMIT 1";
        texts(&sandbox, outputs)
    };
    assert_eq!(rows(), ["{\"rows\":3}"]);
    let reused = "SELECT CAST(count(*) AS TEXT) FROM events WHERE kind = 'cache_hit'";
    assert_eq!(rows(), ["{\"rows\":3}"]);
    assert_eq!(texts(&sandbox, reused), ["1"]);
    let attack = "UPDATE cache SET outputs = '{\"rows\":9}'";
    sql(&sandbox, attack);
    named(&sandbox, attack, &["table `cache`, key="]);
    assert_eq!(rows(), ["{\"rows\":3}"]);
    assert_eq!(texts(&sandbox, reused), ["1"], "it was not reused");
    sandbox.wf(&["why", "--last", "count"]).exits(0).says("the log does not record it like this");
    // It was stored anew.
    clean(&sandbox);
    assert_eq!(rows(), ["{\"rows\":3}"]);
    assert_eq!(texts(&sandbox, reused), ["2"]);
}
