//! What the log has is put back, and nothing else is touched.

use std::time::Duration;

use super::{Copy, clean, lived, named, projections::TABLES, sql, texts};
use crate::support::Sandbox;

/// All rows of a table, as one text each.
fn rows(sandbox: &Sandbox, table: &str) -> Vec<String> {
    let columns = texts(sandbox, &format!("SELECT name FROM pragma_table_info('{table}')"));
    let quoted: Vec<String> = columns.iter().map(|column| format!("quote({column})")).collect();
    texts(sandbox, &format!("SELECT {} FROM {table}", quoted.join(" || ',' || ")))
}

#[test]
fn tables_that_differ_are_rebuilt_and_each_difference_is_named() {
    let sandbox = lived();
    sandbox.wf(&["doctor", "--repair"]).exits(0).says("nothing to repair");
    let copy = Copy::of(&sandbox);
    for attack in [
        "UPDATE runs SET outcome = 'succeeded', standing = 'verified', reason = ''".to_owned(),
        "UPDATE steps SET state = 'succeeded' WHERE state = 'failed'".into(),
        "INSERT INTO revoked_approvals (nonce, goal, who, at) VALUES ('n', 'g', NULL, 1)".into(),
        "INSERT INTO approval_uses (nonce, execution, token, run) VALUES ('n', 1, '00', 'r')".into(),
        "INSERT INTO cache (key, run, step, item, outputs, artifacts, files, created, event)
         VALUES ('k', 'r', 's', -1, '{}', '[]', '[]', 0, 1)"
            .into(),
        "INSERT INTO megrams VALUES ('id', 'knowledge', 0, NULL, 's', 'e', 'x', 'refine', 1, 1, 1)".into(),
        TABLES.map(|table| format!("DELETE FROM {table};")).concat(),
    ] {
        let all = || -> Vec<Vec<String>> {
            let others = ["revoked_approvals", "approval_uses", "cache", "megrams"];
            TABLES.iter().chain(&others).map(|table| rows(&sandbox, table)).collect()
        };
        let before = all();
        sql(&sandbox, &attack);
        // The control: both commands find it, and name the remedy.
        assert_ne!(all(), before, "{attack}");
        named(&sandbox, &attack, &["table `", "wf doctor --repair"]);
        let did = sandbox.wf(&["doctor", "--repair"]).exits(0);
        did.says("table `").says("the tables were rebuilt from the log");
        assert_eq!(all(), before, "{attack}");
        clean(&sandbox);
        sandbox.wf(&["audit", "tail", "-n", "9"]).exits(0).says("repaired differences=");
        copy.put_back(&sandbox);
    }
}

#[test]
fn nothing_is_rebuilt_from_a_log_that_was_altered_or_beside_what_cannot_be_rebuilt() {
    let sandbox = lived();
    let copy = Copy::of(&sandbox);
    let table = "UPDATE runs SET outcome = 'succeeded'";
    for (attack, word) in [
        ("UPDATE events SET body = replace(body, 'flaky', 'lucky')", "was modified"),
        ("DELETE FROM events WHERE seq = 9", "does not follow"),
        ("UPDATE source_texts SET text = text || ' '", "was modified"),
        ("CREATE TRIGGER more AFTER INSERT ON runs BEGIN SELECT 1; END", "trigger"),
    ] {
        sql(&sandbox, &format!("{attack}; {table}"));
        let before = TABLES.map(|table| rows(&sandbox, table));
        let did = sandbox.wf(&["doctor", "--repair"]).exits(6);
        did.says(word).says("nothing was changed").says("`wf restore`");
        assert_eq!(TABLES.map(|table| rows(&sandbox, table)), before, "{attack}");
        copy.put_back(&sandbox);
    }
}

#[test]
fn nothing_is_rebuilt_while_a_process_works() {
    let sandbox = Sandbox::new();
    let plan = "---
kind: plan
id: slow
steps:
  - {id: wait, run: 'touch on; until [ -e go ]; do sleep 0.02; done'}
---
";
    sandbox.file("plan.md", plan);
    let mut run = sandbox.start(&["run", "plan.md", "-q"]);
    while !sandbox.at("on").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let attack = "UPDATE steps SET state = 'failed'";
    sql(&sandbox, attack);
    sandbox.wf(&["doctor", "--repair"]).exits(2).says("is held by").says("hint: ");
    assert_eq!(texts(&sandbox, "SELECT state FROM steps"), ["failed"]);
    sandbox.file("go", "");
    run.wait().unwrap();
    sql(&sandbox, attack);

    std::fs::create_dir_all(sandbox.at(".wf/goals")).unwrap();
    let lead = std::fs::File::create(sandbox.at(".wf/goals/leader.lock")).unwrap();
    lead.lock().unwrap();
    sandbox.wf(&["doctor", "--repair"]).exits(2).says("a daemon works on").says("stop the daemon");
    assert_eq!(texts(&sandbox, "SELECT state FROM steps"), ["failed"]);
    drop(lead);
    // The control: without them, it is put right.
    sandbox
        .wf(&["doctor", "--repair"])
        .exits(0)
        .says("`state` is `failed`, expected `succeeded` from the log");
    assert_eq!(texts(&sandbox, "SELECT state FROM steps"), ["succeeded"]);
    clean(&sandbox);
}
