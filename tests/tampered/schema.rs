use super::{Copy, clean, lived, named, sql, texts};

#[test]
fn what_no_migration_makes_is_named() {
    let sandbox = lived();
    let copy = Copy::of(&sandbox);
    let tables = texts(&sandbox, "SELECT name FROM sqlite_schema WHERE type = 'table'");
    assert!(tables.len() > 20, "{tables:?}");
    for table in &tables {
        let column = "SELECT name FROM pragma_table_info(?1) LIMIT 1";
        let column: String = sandbox.database().query_row(column, [table], |row| row.get(0)).unwrap();
        for (attack, said) in [
            (
                format!("CREATE TRIGGER t AFTER INSERT ON {table} BEGIN SELECT 1; END"),
                "unexpected trigger `t`".to_owned(),
            ),
            (format!("CREATE VIEW v AS SELECT * FROM {table}"), "unexpected view `v`".into()),
            (format!("CREATE INDEX i ON {table} ({column})"), "unexpected index `i`".into()),
            (format!("CREATE TABLE more AS SELECT * FROM {table}"), "unexpected table `more`".into()),
            (
                format!("ALTER TABLE {table} ADD COLUMN more TEXT"),
                format!("the table `{table}` of the schema differs from the migrations"),
            ),
        ] {
            sql(&sandbox, &attack);
            named(&sandbox, &attack, &["the schema", &said]);
            copy.put_back(&sandbox);
        }
    }
    let indices = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
    for index in texts(&sandbox, indices) {
        let attack = format!("DROP INDEX {index}");
        sql(&sandbox, &attack);
        named(&sandbox, &attack, &[&format!("is missing the index `{index}`")]);
        copy.put_back(&sandbox);
    }
    for table in ["approval_uses", "revoked_approvals", "approval_responses"] {
        let attack = format!("DROP TABLE {table}");
        sql(&sandbox, &attack);
        named(&sandbox, &attack, &[&format!("is missing the table `{table}`")]);
        copy.put_back(&sandbox);
    }
    clean(&sandbox);
}

#[test]
fn a_trigger_works_where_nobody_compares_the_schema() {
    let sandbox = lived();
    sql(
        &sandbox,
        "CREATE TRIGGER t AFTER UPDATE ON runs WHEN new.outcome = 'failed'
         BEGIN UPDATE runs SET outcome = 'succeeded' WHERE key = new.key; END",
    );
    sandbox.wf(&["run", "plan.md", "-q"]).exits(1);
    let outcome = texts(&sandbox, "SELECT outcome FROM runs WHERE parent IS NULL ORDER BY key DESC LIMIT 1");
    assert_eq!(outcome, ["succeeded"], "the attack works");
    named(&sandbox, "a trigger", &["unexpected trigger `t`"]);
    // What is decided and shown follows the log all the same.
    sandbox.wf(&["runs", "-n", "1"]).exits(0).says("failed");
    sandbox.wf(&["retry", "--last", "--dry-run"]).exits(0).says("flaky");
    sandbox.wf(&["attest", "--last", "--statement"]).exits(0).says("\"outcome\":\"failed\"");
}
