use super::{Copy, clean, lived, named, sql};
use crate::support::Sandbox;

/// The tables that are made from the log.
pub(super) const TABLES: [&str; 6] = ["runs", "run_sources", "steps", "attempts", "checks", "artifacts"];

/// A change of one column of one row: its table, its column, and how it is done.
pub(super) struct Change {
    pub table: String,
    pub column: String,
    pub attack: String,
}

/// A change of each column of each table, in a row that was chosen before.
pub(super) fn changes(sandbox: &Sandbox) -> Vec<Change> {
    let mut all = Vec::new();
    for table in TABLES {
        let database = sandbox.database();
        let columns = "SELECT name, type FROM pragma_table_info(?1) ORDER BY cid";
        let mut columns = database.prepare(columns).unwrap();
        let columns =
            columns.query_map([table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
        for (column, kind) in columns.unwrap().map(Result::unwrap) {
            // Another value that the column may hold.
            let other = match (kind.as_str(), column.as_str()) {
                ("INTEGER", _) => format!("coalesce({column}, 0) + 1000"),
                ("BLOB", _) => "zeroblob(32)".into(),
                (_, "standing") => "iif(standing = 'verified', 'unchecked', 'verified')".into(),
                (_, "state") => "iif(state = 'failed', 'succeeded', 'failed')".into(),
                (_, "outcome") => "iif(outcome = 'failed', 'succeeded', 'failed')".into(),
                (_, "params" | "config" | "outputs") => "'{\"day\":\"doomsday\"}'".into(),
                (_, "failure_class") => "iif(failure_class = 'logical', 'environmental', 'logical')".into(),
                (_, "exit") => "'{\"kind\":\"completed\"}'".into(),
                (_, "verdict") => "replace(verdict, 'pass', 'fail')".into(),
                _ => format!("coalesce({column}, '') || 'x'"),
            };
            let key = if table == "runs" {
                "key = (SELECT min(key) FROM runs)".into()
            } else {
                let key = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
                let mut key = database.prepare(key).unwrap();
                let key = key.query_map([table], |row| row.get::<_, String>(0));
                let key: Vec<String> = key.unwrap().map(Result::unwrap).collect();
                let key = key.join(", ");
                format!("({key}) = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1)")
            };
            all.push(Change {
                attack: format!("UPDATE {table} SET {column} = {other} WHERE {key}"),
                table: table.into(),
                column,
            });
        }
    }
    assert!(all.len() > 50, "there are {} columns", all.len());
    all
}

#[test]
fn a_change_of_any_column_of_any_projection_is_named_with_what_the_log_says() {
    let sandbox = lived();
    clean(&sandbox);
    let copy = Copy::of(&sandbox);
    for Change { table, column, attack } in changes(&sandbox) {
        sql(&sandbox, &attack);
        let table = format!("table `{table}`");
        let key = sandbox.database().query_row(
            "SELECT count(*) FROM pragma_table_info(?1) WHERE pk > 0 AND name = ?2",
            [table.trim_start_matches("table ").trim_matches('`'), &column],
            |row| row.get::<_, i64>(0),
        );
        if key.unwrap() > 0 {
            // It is another row then, and one is gone.
            named(&sandbox, &attack, &[&table, "the log"]);
        } else {
            named(&sandbox, &attack, &[&table, &format!("`{column}` is "), "from the log"]);
        }
        copy.put_back(&sandbox);
    }
    clean(&sandbox);
}

#[test]
fn a_row_that_is_gone_or_was_added_is_named() {
    let sandbox = lived();
    let copy = Copy::of(&sandbox);
    for table in TABLES {
        let all = format!("SELECT count(*) FROM {table}");
        let rows: i64 = sandbox.database().query_row(&all, [], |row| row.get(0)).unwrap();
        assert!(rows > 0, "{table} has rows");
        let table_named = format!("table `{table}`");
        let gone = format!("DELETE FROM {table}");
        sql(&sandbox, &gone);
        named(&sandbox, &gone, &[&table_named, "row missing"]);
        copy.put_back(&sandbox);
        let run = if table == "runs" { "key" } else { "run" };
        let id = if table == "runs" { ", id = 'f' || id" } else { "" };
        let added = format!(
            "CREATE TEMP TABLE more AS SELECT * FROM {table};
             UPDATE more SET {run} = {run} + 1000{id};
             INSERT INTO {table} SELECT * FROM more"
        );
        sql(&sandbox, &added);
        named(&sandbox, &added, &[&table_named, "row not derivable from the log"]);
        copy.put_back(&sandbox);
    }
}
