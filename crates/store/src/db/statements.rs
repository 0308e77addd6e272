//! The statements of the migrations, by the table they make: readers make the same tables of their own.

use rusqlite::Connection;

/// Makes a temporary table of the name and with the columns of a stored one, without its indices and references.
pub(crate) fn make_shadow(connection: &Connection, table: &str, migrations: &[&str]) -> rusqlite::Result<()> {
    for statement in statements_of(table, migrations) {
        let made = statement.replacen("CREATE TABLE ", "CREATE TEMP TABLE ", 1);
        let made = made.replacen("ALTER TABLE ", "ALTER TABLE temp.", 1);
        // Texts stay in the database, and no foreign key refers from a temporary table to it.
        connection.execute_batch(&made.replace(" REFERENCES source_texts (digest)", ""))?;
    }
    Ok(())
}

/// Makes the indices of a stored table on its temporary one.
pub(crate) fn make_shadow_indices(
    connection: &Connection,
    table: &str,
    migrations: &[&str],
) -> rusqlite::Result<()> {
    let on = format!(" ON {table} (");
    let all = statements(migrations).filter(|text| text.starts_with("CREATE INDEX ") && text.contains(&on));
    for index in all {
        connection.execute_batch(&index.replacen("CREATE INDEX ", "CREATE INDEX temp.", 1))?;
    }
    Ok(())
}

/// Returns the statements that make a table: the one that creates it, and those that add columns.
fn statements_of<'a>(table: &str, migrations: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let heads = [format!("CREATE TABLE {table} ("), format!("ALTER TABLE {table} ADD COLUMN ")];
    statements(migrations).filter(move |text| heads.iter().any(|head| text.starts_with(head)))
}

/// Returns the statements of migrations, without the comments before each.
fn statements<'a>(migrations: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let all = migrations.iter().flat_map(|text| text.split(";\n")).map(without_comments);
    all.filter(|text| !text.is_empty())
}

fn without_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        if !text.starts_with("--") {
            return text;
        }
        text = text.split_once('\n').map_or("", |(_, rest)| rest);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rusqlite::Connection;

    use super::{make_shadow, statements_of};
    use crate::db::migrate::{MIGRATIONS, pristine};

    fn tables(connection: &Connection, schema: &str) -> BTreeMap<String, String> {
        let sql = format!(
            "SELECT name, sql FROM {schema}.sqlite_schema WHERE type = 'table' AND name <> 'migrations'"
        );
        let mut tables = connection.prepare(&sql).unwrap();
        let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        tables.unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn every_table_is_made_by_its_statements() {
        let expected = tables(&pristine().unwrap(), "main");
        let connection = Connection::open_in_memory().unwrap();
        for table in expected.keys() {
            for statement in statements_of(table, MIGRATIONS) {
                connection.execute_batch(statement).unwrap();
            }
        }
        assert!(expected.len() > 10);
        assert_eq!(tables(&connection, "main"), expected);
    }

    #[test]
    fn a_column_that_a_later_migration_adds_is_in_the_temporary_table_too() {
        let migrations = [
            "-- A table;\nCREATE TABLE a (\n    x TEXT -- why\n) STRICT;\nCREATE TABLE ab (y TEXT) STRICT;\n",
            "-- More\nALTER TABLE a ADD COLUMN z INTEGER NOT NULL DEFAULT 0;\n",
        ];
        let connection = Connection::open_in_memory().unwrap();
        make_shadow(&connection, "a", &migrations).unwrap();
        connection.execute("INSERT INTO temp.a (x, z) VALUES ('1', 2)", []).unwrap();
        assert_eq!(tables(&connection, "temp").len(), 1);
    }
}
